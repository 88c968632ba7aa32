import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { sourcesOf } from './sources.ts';

export interface MutantVerdict {
  id: string;
  file: string;
  /** From 1; columns from 0. */
  line: number;
  column: number;
  end: { line: number; column: number };
  mutator: string;
  replacement: string;
  verdict: 'noticed' | 'missed' | 'static' | 'timeout';
}

const root = join(import.meta.dirname, '../..');
const sandbox = join(root, '../../.stryker-tmp/fast');
/** A mutant that needs so many times as long as the unchanged sources does not end. */
const patience = 8;
const leastLimitMs = 3_000;
const startLimitMs = 60_000;
const parallel = 2;
const silent = () => undefined;
const logger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/** Asks the golden cases, the matrix and a part of the corpus about every mutant of a folder, in one process. */
export async function decideAll(folder: string): Promise<MutantVerdict[]> {
  rmSync(sandbox, { recursive: true, force: true });
  mkdirSync(sandbox, { recursive: true });
  cpSync(join(root, 'src'), join(sandbox, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(sandbox, 'package.json'));
  symlinkSync(join(root, 'golden'), join(sandbox, 'golden'));
  symlinkSync(join(root, 'corpus'), join(sandbox, 'corpus'));
  const files = sourcesOf(root, folder).map((name) => {
    return { name: join(sandbox, name), mutate: true, content: readFileSync(join(root, name), 'utf8') };
  });
  const options = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false };
  const result = await new Instrumenter(logger).instrument(files, options);
  for (const { name, content } of result.files) writeFileSync(name, content);
  const ids = result.mutants.map(({ id }) => id);
  const verdicts = new Map<string, MutantVerdict['verdict']>();
  const shares = Array.from({ length: parallel }, (_, share) =>
    ids.filter((_id, at) => at % parallel === share),
  );
  await Promise.all(shares.map((share) => decide(folder, share, verdicts)));
  return result.mutants.map(({ id, fileName, location, mutatorName, replacement }) => ({
    id,
    file: fileName.slice(sandbox.length + 1),
    line: location.start.line + 1,
    column: location.start.column,
    end: { line: location.end.line + 1, column: location.end.column },
    mutator: mutatorName,
    replacement,
    verdict: verdicts.get(id) ?? 'missed',
  }));
}

/** Goes on behind a mutant that does not end until all are decided. */
async function decide(
  folder: string,
  ids: readonly string[],
  verdicts: Map<string, MutantVerdict['verdict']>,
): Promise<void> {
  let left = ids;
  while (left.length > 0) {
    const hanging = await runChild(folder, left, verdicts);
    if (hanging !== undefined) verdicts.set(hanging, 'timeout');
    const before = left.length;
    left = left.filter((id) => !verdicts.has(id));
    if (left.length === before) throw new TypeError(`nothing can be decided about ${folder}`);
  }
}

/** Runs until all are decided or one does not end; returns that one. */
function runChild(
  folder: string,
  ids: readonly string[],
  verdicts: Map<string, MutantVerdict['verdict']>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const script = join(sandbox, 'src/mutation/child.ts');
    const child = spawn(process.execPath, ['--max-old-space-size=512', script, folder, ids.join(',')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let text = '';
    const watch = (ms: number) => setTimeout(() => child.kill('SIGKILL'), ms);
    let timer = watch(startLimitMs);
    let limitMs = leastLimitMs;
    child.stdout.on('data', (piece: Buffer) => {
      clearTimeout(timer);
      timer = watch(limitMs);
      const lines = (text + piece.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [id = '', verdict = ''] = line.split(' ');
        if (id === 'ready') {
          limitMs = Math.max(leastLimitMs, Number(verdict) * patience);
          clearTimeout(timer);
          timer = watch(limitMs);
          continue;
        }
        // The three words that the child writes.
        verdicts.set(id, verdict as MutantVerdict['verdict']);
      }
    });
    child.on('close', () => {
      clearTimeout(timer);
      resolve(text === '' ? undefined : text.trim());
    });
  });
}
