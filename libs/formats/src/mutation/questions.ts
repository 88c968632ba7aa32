import { basename, join } from 'node:path';
import { createCorpus, standardCorpus } from '../corpus/bad-input.ts';
import { judge } from '../corpus/judge.ts';
import { goldenCases, goldenFormats } from '../golden-case.ts';
import { runAnswerLeg } from '../matrix/answer-leg.ts';
import { runRequestLeg } from '../matrix/request-leg.ts';
import { seededLosses } from '../matrix/seeded-loss.ts';
import { formats } from '../registry.ts';
import { filesOf } from './sources.ts';
import { takeTests } from './test-collector.ts';

/** A check that `npm test` makes, too. It returns false or throws if it fails. */
export type Question = () => unknown;

const root = join(import.meta.dirname, '../..');

/** Tests with real sockets and whole SDKs take seconds per mutant, and the golden streams notice what they notice. */
const tooSlow = 'sdk.test.ts';

/**
 * What the tests ask of a folder below `src`, or of the files that all formats share (`shared`): each of its unit,
 * property and golden tests, each cell of the matrix that it takes part in, and the beginning of the corpus.
 */
export async function questionsAbout(folder: string): Promise<Question[]> {
  // Importing the files also fills the collector, which starts empty.
  for (const file of testsOf(folder)) await import(file);
  return [...takeTests(), ...matrixQuestions(folder), ...corpusQuestions(folder)];
}

/** The files with the tests of a folder below `src`, or of all folders of formats (`shared`). */
export function testsOf(folder: string): string[] {
  const folders = folder === 'shared' ? formats.map(({ server }) => server.format) : [folder];
  return ['shared', ...folders]
    .flatMap((part) => filesOf(root, part))
    .filter((file) => file.endsWith('.test.ts') && basename(file) !== tooSlow)
    .map((file) => join(root, file));
}

function matrixQuestions(folder: string): Question[] {
  const loss = seededLosses.none;
  const pairs = goldenFormats()
    .flatMap(goldenCases)
    .flatMap((golden) => formats.map(({ client }) => ({ golden, dialect: client.format })))
    .filter(({ golden, dialect }) => folder === 'shared' || [golden.format, dialect].includes(folder));
  return pairs.flatMap(({ golden, dialect }) =>
    (['stream', 'single'] as const).flatMap((mode) => [
      ...(golden.wire ? [() => runRequestLeg(golden, dialect, mode, loss).state !== 'lossy'] : []),
      ...(golden.events.length > 0
        ? [() => runAnswerLeg(golden, dialect, mode, loss).state !== 'lossy']
        : []),
    ]),
  );
}

function corpusQuestions(folder: string): Question[] {
  return createCorpus({ ...standardCorpus, mutations: 400 })
    .filter(({ format }) => format === folder || folder === 'shared')
    .map((input) => () => judge(input) === undefined);
}

/** The first question that fails or throws; absent if none does. */
export async function findWrong(questions: readonly Question[]): Promise<Question | undefined> {
  for (const question of questions) {
    try {
      if ((await question()) === false) return question;
    } catch {
      return question;
    }
  }
  return undefined;
}
