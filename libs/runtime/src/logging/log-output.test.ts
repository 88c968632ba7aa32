import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync, openSync, readSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';
import { openTestFolder } from '../test-folder.ts';
import { openLogOutput } from './log-output.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Ends as a process under a drain does, after lines of all kinds; tells on its standard error that it could. */
const program = `
  import { execFileSync } from 'node:child_process';
  import { once } from 'node:events';
  import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
  const logger = createLogger({ name: 'child' });
  logger.info('first');
  // As a supervisor does when a process under it ends.
  execFileSync(process.execPath, ['-e', ''], { stdio: ['ignore', 'inherit', 'ignore'] });
  for (let line = 0; line < Number(process.argv.at(-1) ?? 0); line += 1) logger.info({ line }, 'one of many');
  process.stdin.resume();
  await once(process.stdin, 'end');
  logger.fatal('broken');
  logger.info('last');
  process.stderr.write('ends');
  process.exit(0);
`;

function run(stdout: number | 'pipe', lines = 0) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, String(lines)], {
    stdio: ['pipe', stdout, 'pipe'],
  });
  children.push(child);
  const { stdin, stderr } = child;
  // Both are pipes, by the line above.
  if (!stdin || !stderr) throw new TypeError('a process without pipes');
  return { child, stdin, ended: once(child, 'exit'), told: text(stderr) };
}

function outputOf({ stdout }: ChildProcess) {
  if (!stdout) throw new TypeError('a process without an output');
  return stdout;
}

it.runIf(existsSync('/dev/full'))('a disk that is full costs the lines and nothing else', async () => {
  const { stdin, ended, told } = run(openSync('/dev/full', 'w'));
  stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await told).toBe('ends');
});

it('a reader that is gone does not hang the process either', async () => {
  const { child, stdin, ended, told } = run('pipe');
  const stdout = outputOf(child);
  await once(stdout, 'data');
  stdout.destroy();
  await once(stdout, 'close');
  stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await told).toBe('ends');
});

it.runIf(existsSync('/proc/self/fd'))('nor does one that stalls', async () => {
  const pipe = join(openTestFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  // More than a pipe holds.
  const { stdin, ended, told } = run(openSync(pipe, 'w'), 20_000);
  stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await told).toBe('ends');
});

// Node's own pipes to its children are sockets, as standard output is under systemd.
it('nor does one that stalls at the other end of a socket', async () => {
  const { stdin, ended, told } = run('pipe', 20_000);
  stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await told).toBe('ends');
});

it.runIf(existsSync('/usr/bin/script') && existsSync('/proc/self/fd'))(
  'nor a terminal that stalls',
  async () => {
    const folder = openTestFolder();
    const [file, pipe] = [join(folder, 'program.mjs'), join(folder, 'pipe')];
    writeFileSync(file, program);
    execFileSync('mkfifo', [pipe]);
    const command = `'${process.execPath}' '${file}' 20000 2>/dev/null; echo $? > '${pipe}'`;
    const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], { stdio: 'pipe' });
    children.push(terminal);
    terminal.stdin.end();
    expect(await readFile(pipe, 'utf8')).toBe('0\n');
  },
);

it('lines keep their order, and the last ones are not lost', async () => {
  const { child, stdin, ended } = run('pipe');
  const stdout = outputOf(child);
  const lines: string[] = [];
  createInterface({ input: stdout }).on('line', (line) => {
    lines.push(JSON.parse(line).msg);
    if (lines.length === 1) stdin.end();
  });
  await Promise.all([ended, once(stdout, 'close')]);
  expect(lines).toEqual(['first', 'broken', 'last']);
});

it.runIf(existsSync('/proc/self/fd'))(
  'a flush writes what a full pipe has not taken before the lines that wait, and once',
  async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const pipe = join(openTestFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const room = Buffer.alloc(1024 * 1024);
    let taken = '';
    const read = () => {
      taken += room.toString('utf8', 0, readSync(reader, room));
    };
    const output = openLogOutput(openSync(pipe, 'w'), room.length);
    // More than a pipe holds, and less than twice that.
    const lines = Array.from({ length: 20_000 }, (_, line) => `${line}\n`).join('');
    output.write(lines);
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    output.write('broken\n');
    read();
    output.flushSync();
    read();
    expect(taken).toBe(`${lines}broken\n`);

    output.write('later\n');
    vi.runOnlyPendingTimers();
    while (!taken.endsWith('later\n')) {
      await new Promise(setImmediate);
      try {
        read();
      } catch {
        // Nothing is there yet.
      }
    }
    expect(taken).toBe(`${lines}broken\nlater\n`);
  },
);
