import { parseArgs } from 'node:util';
import { type JudgedMutant, judgeMutants, type Verdict } from './judge-mutants.ts';

const usage =
  'usage: npm run mutation -- [--folder openai]… [--file tools.ts]… [--least 85] [--survivors]\n' +
  'Changes the codecs one mutant at a time and tells how many the tests notice: folder by folder (openai, anthropic,\n' +
  'gemini, and `shared` for what all of them use), minutes each. Every mutant is shown to every unit, property and\n' +
  'golden test that reaches it, to the matrix and to a part of the corpus of bad input. A mutant that ends no test\n' +
  'counts as noticed; one that a comment in the source excuses with a reason does not count. Fails where a folder\n' +
  'has less than --least percent.\n';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', multiple: true, default: ['openai', 'anthropic', 'gemini', 'shared'] },
    file: { type: 'string', multiple: true, default: [] },
    least: { type: 'string', default: '85' },
    survivors: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function show({ file, line, mutator, replacement }: JudgedMutant): string {
  return `  ${file}:${line} ${mutator}: ${replacement.replace(/\s+/g, ' ').slice(0, 100)}\n`;
}

/** Prints what is known about a folder and returns its score in percent. */
async function score(folder: string): Promise<number> {
  const mutants = await judgeMutants(folder, values.file, (judged, all) => {
    process.stderr.write(`${folder}: ${judged} of ${all} mutants\n`);
  });
  const count = (verdict: Verdict) => mutants.filter((mutant) => mutant.verdict === verdict).length;
  const [noticed, timeouts, missed] = [count('noticed'), count('timeout'), count('missed')];
  const percent = (100 * (noticed + timeouts)) / Math.max(1, noticed + timeouts + missed);
  process.stdout.write(
    `${folder}: ${mutants.length} mutants, ${noticed} noticed, ${timeouts} end no test, ${missed} missed, ` +
      `${count('excused')} excused; score ${percent.toFixed(1)} %\n`,
  );
  if (values.survivors) {
    for (const mutant of mutants) if (mutant.verdict === 'missed') process.stdout.write(show(mutant));
  }
  return percent;
}

if (values.help) process.stdout.write(usage);
else {
  for (const folder of values.folder) {
    if ((await score(folder)) < Number(values.least)) process.exitCode = 1;
  }
}
