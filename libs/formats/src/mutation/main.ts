import { readFlags } from '../command-line.ts';
import { Random } from '../corpus/random.ts';
import { type JudgedMutant, judgeMutants, type Verdict } from './judge-mutants.ts';
import { scoreOf } from './score.ts';
import type { Mutant } from './test-sandbox.ts';

const usage =
  'usage: npm run mutation -- [--folder openai]… [--file tools.ts]… [--sample 800] [--seed 1] [--least 85]\n' +
  '                           [--survivors]\n' +
  'Changes the codecs one mutant at a time and tells how many the tests notice: folder by folder (openai, anthropic,\n' +
  'gemini, and `shared` for what all of them use), some minutes each, or less for a --sample. A mutant is shown to\n' +
  'every unit, property and golden test that reaches it, to the matrix and to a part of the corpus of bad input. One\n' +
  'that ends no test counts as noticed; one that a comment in the source excuses with a reason does not count. Fails\n' +
  'where a folder has less than --least percent.\n';

const values = readFlags(usage, {
  folder: { type: 'string', multiple: true, default: ['openai', 'anthropic', 'gemini', 'shared'] },
  file: { type: 'string', multiple: true, default: [] },
  sample: { type: 'string', default: 'all' },
  seed: { type: 'string', default: '1' },
  least: { type: 'string', default: '85' },
  survivors: { type: 'boolean', default: false },
});

function choose(mutants: readonly Mutant[]): Mutant[] {
  if (values.sample === 'all') return [...mutants];
  const random = new Random(Number(values.seed));
  const left = [...mutants];
  const chosen: Mutant[] = [];
  while (left.length > 0 && chosen.length < Number(values.sample)) {
    chosen.push(...left.splice(random.below(left.length), 1));
  }
  return chosen;
}

function show({ file, line, mutator, replacement }: JudgedMutant): string {
  return `  ${file}:${line} ${mutator}: ${replacement.replace(/\s+/g, ' ').slice(0, 100)}\n`;
}

/** Prints the result for a folder and returns its score in percent. */
async function judge(folder: string): Promise<number> {
  const tell = (done: number, all: number) =>
    process.stderr.write(`${folder}: ${done} of ${all} mutants judged\n`);
  const { all, judged } = await judgeMutants({ folder, files: values.file, choose, tell });
  const count = (verdict: Verdict) => judged.filter((mutant) => mutant.verdict === verdict).length;
  const [noticed, timeouts, missed] = [count('noticed'), count('timeout'), count('missed')];
  const isSample = judged.length < all;
  const { percent, low, high } = scoreOf(noticed + timeouts, noticed + timeouts + missed, isSample);
  const bounds = isSample ? ` (95 % interval ${low.toFixed(1)} to ${high.toFixed(1)} %)` : '';
  process.stdout.write(
    `${folder}: ${isSample ? `${judged.length} of ` : ''}${all} mutants, ${noticed} noticed, ${timeouts} end no test, ` +
      `${missed} missed, ${count('excused')} excused; score ${percent.toFixed(1)} %${bounds}\n`,
  );
  if (values.survivors) {
    for (const mutant of judged) if (mutant.verdict === 'missed') process.stdout.write(show(mutant));
  }
  return percent;
}

for (const folder of values.folder) {
  if ((await judge(folder)) < Number(values.least)) process.exitCode = 1;
}
