import { spawn } from 'node:child_process';
import { createSandbox, type Mutant } from './test-sandbox.ts';

/**
 * `noticed`: a test that is green on the sources is red with the mutant. `timeout`: a test does not end, or the process
 * dies of it. `missed`: every test stays green. `excused`: see `Mutant.excuse`.
 */
export type Verdict = 'noticed' | 'timeout' | 'missed' | 'excused';

export interface JudgedMutant extends Mutant {
  verdict: Verdict;
}

/** What a child process says about a mutant; see there. */
type Word = Verdict | 'again';

/** A child that has been silent for so long is in a loop: no question takes a tenth of it on an idle machine. */
const silenceLimitMs = 60_000;
/** Until it says its first word. */
const startLimitMs = 180_000;
const parallel = 2;
const tellEveryMs = 30_000;

export interface JudgeOptions {
  folder: string;
  /** Names of the files to keep to; empty means all. */
  files: readonly string[];
  /** Which of the mutants to judge. */
  choose: (mutants: readonly Mutant[]) => Mutant[];
  /** Is told now and then how far it is. */
  tell: (judged: number, all: number) => void;
}

/** Judges the chosen mutants of a folder. `all` is how many there are to choose from. */
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

/** Goes on behind a mutant that does not end until all are decided. */
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
    // One more try where the first of them was disturbed by traces: it is the first of the next process.
    if (left.length === before) throw new TypeError(`nothing can be decided about ${folder}`);
  }
}

/** Runs until all are decided or one does not end; returns that one. */
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
        // The words that the child writes.
        if (word !== 'again') words.set(id, word as Word);
      }
    });
    child.on('close', () => {
      clearTimeout(timer);
      resolve(/^\.*(\d+) /.exec(text)?.[1]);
    });
  });
}
