import { spawn } from 'node:child_process';
import { createSandbox, type Mutant } from './test-sandbox.ts';

/**
 * `noticed`: a test that passes on the sources fails with the mutant. `timeout`: a test does not end, or the process
 * dies. `missed`: every test still passes. `excused`: see `Mutant.excuse`.
 */
export type Verdict = 'noticed' | 'timeout' | 'missed' | 'excused';

/** A mutant, and whether a test noticed it. */
export interface JudgedMutant extends Mutant {
  verdict: Verdict;
}

/** What a child process says about a mutant; see child.ts. */
type Word = Verdict | 'again';

/** A child that is silent for this long is in a loop: on an idle machine, no question takes a tenth of it. */
const silenceLimitMs = 60_000;
/** The limit until the child's first output. */
const startLimitMs = 180_000;
const parallel = 2;
const tellEveryMs = 30_000;

/** Which mutants to judge. */
export interface JudgeOptions {
  folder: string;
  /** Names of the files to judge; empty means all. */
  files: readonly string[];
  /** Selects the mutants to judge. */
  choose: (mutants: readonly Mutant[]) => Mutant[];
  /** Called now and then with the progress. */
  tell: (judged: number, all: number) => void;
}

/** Judges the chosen mutants of a folder. `all` is the number of mutants to choose from. */
export async function judgeMutants({
  folder,
  files,
  choose,
  tell,
}: JudgeOptions): Promise<{ all: number; judged: JudgedMutant[] }> {
  const sandbox = await createSandbox(folder, files);
  const { script } = sandbox;
  const mutants = choose(sandbox.mutants);
  const words = new Map<string, Word>();
  const clock = setInterval(() => tell(words.size, mutants.length), tellEveryMs);
  for (const { id, excuse } of mutants) if (excuse !== undefined) words.set(id, 'excused');
  const ids = mutants.map(({ id }) => id).filter((id) => !words.has(id));
  await share(ids, (part) => decide(script, folder, part, words)).finally(() => clearInterval(clock));
  const judged = mutants.map((mutant) => ({ ...mutant, verdict: verdictOf(words.get(mutant.id)) }));
  return { all: sandbox.mutants.length, judged };
}

function verdictOf(word: Word | undefined): Verdict {
  if (word === undefined || word === 'again') throw new TypeError('a mutant was not judged');
  return word;
}

async function share(ids: readonly string[], work: (part: string[]) => Promise<void>): Promise<void> {
  const parts = Array.from({ length: parallel }, (_, part) =>
    ids.filter((_id, at) => at % parallel === part),
  );
  await Promise.all(parts.map(work));
}

/** Decides all mutants, in a new process after each mutant that does not end. */
async function decide(
  script: string,
  folder: string,
  ids: readonly string[],
  words: Map<string, Word>,
): Promise<void> {
  let left = ids;
  while (left.length > 0) {
    const hanging = await runChild(script, folder, left, words);
    if (hanging !== undefined) words.set(hanging, 'timeout');
    const before = left.length;
    left = left.filter((id) => !words.has(id));
    // If traces disturbed the first mutant of this process, it is tried once more as the first of the next process.
    if (left.length === before) throw new TypeError(`nothing can be decided about ${folder}`);
  }
}

/** Runs until all mutants are decided or one does not end. Returns the one that did not. */
function runChild(
  script: string,
  folder: string,
  ids: readonly string[],
  words: Map<string, Word>,
): Promise<string | undefined> {
  let text = '';
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--max-old-space-size=1536', script, folder, ids.join(',')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const watch = (limitMs: number) => setTimeout(() => child.kill('SIGKILL'), limitMs);
    let timer = watch(startLimitMs);
    child.stdout.on('data', (piece: Buffer) => {
      clearTimeout(timer);
      timer = watch(silenceLimitMs);
      const lines = (text + piece.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [, id = '', word = ''] = /^\.*(\d+) \.*(\w+)$/.exec(line) ?? [];
        // Safe to cast: the child writes these words only.
        if (word !== 'again') words.set(id, word as Word);
      }
    });
    child.on('close', () => {
      clearTimeout(timer);
      resolve(/^\.*(\d+) /.exec(text)?.[1]);
    });
  });
}
