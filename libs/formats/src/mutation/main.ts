import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sampleLines, sourcesOf } from './sample.ts';
import { decideAll, type MutantVerdict } from './test-mutants.ts';

const usage =
  'usage: npm run mutation -- [--folder openai]… [--survivors] [--sample LINES [--seed 1]]\n' +
  'Changes the codecs one mutant at a time and tells how many are noticed. All mutants are shown to the golden\n' +
  'cases, the matrix and a part of the corpus, which takes minutes; with --sample the mutants of so many lines are\n' +
  'shown to every unit and property test instead, which takes some seconds each.\n';

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

/** The part of the tool's report that is read here. */
interface Report {
  files: Record<
    string,
    {
      mutants: {
        id: string;
        status: string;
        mutatorName: string;
        replacement?: string;
        location: { start: { line: number } };
      }[];
    }
  >;
}

const verdictOf: Readonly<Record<string, MutantVerdict['verdict']>> = {
  Killed: 'noticed',
  Timeout: 'timeout',
  Survived: 'missed',
  NoCoverage: 'missed',
};

function decideSample(folder: string, count: number): MutantVerdict[] {
  const chosen = sampleLines(root, sourcesOf(root, folder), count, Number(values.seed));
  const reportFile = join(root, '../../reports/mutation.json');
  rmSync(reportFile, { force: true });
  const words = ['run', 'mutation/stryker.config.json', '--mutate', chosen.join(',')];
  spawnSync('stryker', words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  // The tool's own report of the run that has just ended.
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  return Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants.flatMap(({ id, status, mutatorName: mutator, replacement = '', location }) => {
      const verdict = verdictOf[status];
      return verdict ? [{ id, file, line: location.start.line, mutator, replacement, verdict }] : [];
    }),
  );
}

function tell(folder: string, mutants: readonly MutantVerdict[]): void {
  const count = (...verdicts: MutantVerdict['verdict'][]) =>
    mutants.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const noticed = count('noticed', 'timeout');
  const score = ((noticed / (noticed + count('missed'))) * 100).toFixed(1);
  process.stdout.write(
    `${folder.padEnd(10)} ${score.padStart(5)} %  ${noticed} noticed, ${count('missed')} missed` +
      `, ${count('static')} that act while loading not decided\n`,
  );
  if (!values.survivors) return;
  for (const { file, line, mutator, replacement, verdict } of mutants) {
    if (verdict === 'missed') {
      process.stdout.write(
        `  ${file}:${line} ${mutator}: ${replacement.replace(/\s+/g, ' ').slice(0, 100)}\n`,
      );
    }
  }
}

if (values.help) process.stdout.write(usage);
else {
  for (const folder of values.folder) {
    const count = values.sample === undefined ? undefined : Number(values.sample);
    tell(folder, count === undefined ? await decideAll(folder) : decideSample(folder, count));
  }
}
