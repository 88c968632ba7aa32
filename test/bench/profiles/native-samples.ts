import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { nameAddresses } from './compiled-names.ts';

/** One step of a stack: a function of the kernel, of Node's binary or another library, or one that V8 compiled. */
export interface Frame {
  kind: 'kernel' | 'library' | 'compiled';
  name: string;
}

/** Where a thread was when the clock struck. */
export interface Sample {
  thread: string;
  /** Innermost first. */
  frames: readonly Frame[];
}

/** A recording by `perf`, which goes on until it is stopped. */
export interface Recording {
  stop(): Promise<void>;
  /** Samples of one process, after the stop. */
  read(pid: number): Promise<Sample[]>;
}

/** Where V8 writes the names of what it compiles, under `--perf-basic-prof`. */
export function compiledMap(pid: number): string {
  return `/tmp/perf-${pid}.map`;
}

const samplesPerSecond = 3000;

/** Samples processes with all their threads by CPU time. Throws when `perf` is missing or not allowed. */
export async function startRecording(pids: readonly number[], folder: string): Promise<Recording> {
  const file = join(folder, 'perf.data');
  const flags = ['-q', '-e', 'cpu-clock', '-F', String(samplesPerSecond), '-g', '-o', file];
  const perf = spawn('perf', ['record', ...flags, '-p', pids.join(',')], { stdio: ['ignore', 2, 2] });
  await once(perf, 'spawn').catch((cause: unknown) => {
    throw new Error('--native needs perf on PATH (linux-perf of Debian)', { cause });
  });
  const exited = once(perf, 'exit');
  return {
    async stop() {
      perf.kill('SIGINT');
      await exited;
    },
    read: (pid) => readSamples(file, pid),
  };
}

const header = /^(\S.*?)\s+(\d+)\/(\d+)\s*$/;
const step = /^\s+([0-9a-f]+) (.*) \((.*)\)$/;

async function readSamples(file: string, pid: number): Promise<Sample[]> {
  const perf = spawn('perf', ['script', '-i', file, '--pid', String(pid), '-F', 'comm,pid,tid,ip,sym,dso'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const samples: { thread: string; frames: (Frame & { address: number })[] }[] = [];
  for await (const line of createInterface({ input: perf.stdout })) {
    const [, command, process, thread] = header.exec(line) ?? [];
    if (command !== undefined) samples.push({ thread: process === thread ? 'main' : command, frames: [] });
    const [, ip = '', name = '', where = ''] = step.exec(line) ?? [];
    if (where !== '') {
      const frame = { kind: kindOf(where), name, address: Number.parseInt(ip, 16) };
      samples.at(-1)?.frames.push(frame);
    }
  }
  if (samples.length === 0)
    throw new Error(`perf has no samples of process ${pid}: is it allowed to record?`);
  const addresses = samples.flatMap(({ frames }) => {
    return frames.filter(({ kind }) => kind === 'compiled').map(({ address }) => address);
  });
  // perf itself takes the first name of several that an address had.
  const names = nameAddresses(await readFile(compiledMap(pid), 'utf8'), addresses);
  return samples.map(({ thread, frames }) => ({
    thread,
    frames: frames.map(({ kind, name, address }) => ({ kind, name: names.get(address) ?? name })),
  }));
}

function kindOf(where: string): Frame['kind'] {
  if (where.startsWith('[kernel') || where.startsWith('[guest')) return 'kernel';
  // Code that V8 had not named when perf looked lies in memory without a file.
  return where.endsWith('.map') || where === '[unknown]' || where.startsWith('//anon')
    ? 'compiled'
    : 'library';
}
