import { parseArgs } from 'node:util';
import { Random } from '../corpus/random.ts';
import { decideAll, type MutantVerdict } from './test-mutants.ts';
import { showToUnitTests } from './unit-tests.ts';

const usage =
  'usage: npm run mutation -- [--folder openai]… [--unit 80] [--seed 1] [--survivors]\n' +
  'Changes the codecs one mutant at a time and tells how many are noticed. Every mutant is shown to the golden\n' +
  'cases, the matrix and a part of the corpus, minutes a folder. Of those that get through, --unit many (chosen by\n' +
  'the seed; `all` takes an hour or so) are shown to the unit and property tests, and the rest is taken to be alike.\n';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', multiple: true, default: ['openai', 'anthropic', 'gemini'] },
    unit: { type: 'string', default: '80' },
    seed: { type: 'string', default: '1' },
    survivors: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function choose(mutants: readonly MutantVerdict[]): MutantVerdict[] {
  if (values.unit === 'all') return [...mutants];
  const random = new Random(Number(values.seed));
  const left = [...mutants];
  return Array.from({ length: Math.min(Number(values.unit), left.length) }, () =>
    left.splice(random.below(left.length), 1),
  ).flat();
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

async function score(folder: string): Promise<void> {
  const mutants = await decideAll(folder);
  const through = mutants.filter(({ verdict }) => verdict === 'missed' || verdict === 'static');
  const noticed = mutants.length - through.length;
  process.stdout.write(
    `${folder}: ${mutants.length} mutants, ${noticed} noticed by golden cases, matrix and corpus (${percent(noticed / mutants.length)})\n`,
  );
  const shown = choose(through);
  const caught = new Set(showToUnitTests(shown));
  if (shown.length === 0) return;
  const share = caught.size / shown.length;
  const total = (noticed + through.length * share) / mutants.length;
  const word = shown.length === through.length ? 'score' : 'score, estimated';
  process.stdout.write(
    `${folder}: of the others ${shown.length} shown to the unit tests, ${caught.size} noticed; ${word}: ${percent(total)}\n`,
  );
  if (!values.survivors) return;
  for (const mutant of shown) {
    const { file, line, mutator, replacement } = mutant;
    if (caught.has(mutant)) continue;
    process.stdout.write(`  ${file}:${line} ${mutator}: ${replacement.replace(/\s+/g, ' ').slice(0, 100)}\n`);
  }
}

if (values.help) process.stdout.write(usage);
else for (const folder of values.folder) await score(folder);
