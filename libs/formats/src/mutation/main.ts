import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sampleLines, sourcesOf } from './sample.ts';

const usage =
  'usage: npm run mutation -- [--folder openai]… [--sample LINES] [--seed 1] [--survivors]\n' +
  'Changes the codecs one mutant at a time and tells how many the tests notice. The whole takes hours; a sample of\n' +
  'a hundred lines a folder takes minutes.\n';

const root = join(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    folder: { type: 'string', multiple: true, default: ['openai', 'anthropic', 'gemini'] },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    survivors: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

interface Mutant {
  status: string;
  mutatorName: string;
  replacement?: string;
  location: { start: { line: number } };
}

/** The part of the tool's report that is read here. */
interface Report {
  files: Record<string, { mutants: Mutant[] }>;
}

function mutate(folder: string): Report {
  const files = sourcesOf(root, folder);
  const chosen =
    values.sample === undefined
      ? files
      : sampleLines(root, files, Number(values.sample), Number(values.seed));
  const words = ['run', 'mutation/stryker.config.json', '--mutate', chosen.join(',')];
  spawnSync('stryker', words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  // The tool's own report of the run that has just ended.
  return JSON.parse(readFileSync(join(root, '../../reports/mutation.json'), 'utf8')) as Report;
}

function tell(folder: string, { files }: Report): void {
  const mutants = Object.entries(files).flatMap(([file, { mutants: of }]) =>
    of.map((mutant) => ({ file, mutant })),
  );
  const count = (...statuses: string[]) =>
    mutants.filter(({ mutant }) => statuses.includes(mutant.status)).length;
  const noticed = count('Killed', 'Timeout');
  const missed = count('Survived', 'NoCoverage');
  const score = ((noticed / (noticed + missed)) * 100).toFixed(1);
  process.stdout.write(`${folder.padEnd(10)} ${score.padStart(5)} %  ${noticed} noticed, ${missed} missed\n`);
  if (!values.survivors) return;
  for (const { file, mutant } of mutants) {
    if (mutant.status !== 'Survived' && mutant.status !== 'NoCoverage') continue;
    const replacement = (mutant.replacement ?? '').replace(/\s+/g, ' ').slice(0, 100);
    process.stdout.write(`  ${file}:${mutant.location.start.line} ${mutant.mutatorName}: ${replacement}\n`);
  }
}

if (values.help) process.stdout.write(usage);
else for (const folder of values.folder) tell(folder, mutate(folder));
