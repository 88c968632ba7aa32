import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { killWithUs } from './machine/kill-with-us.ts';

/** What a micro-benchmark has measured. */
export interface MicroCost {
  name: string;
  /** Microseconds of CPU; absent if it failed, as an older checkout may without what it measures. */
  us?: number;
}

const line = z.looseObject({ name: z.string(), cpuNs: z.number().nullable() });
const program = fileURLToPath(new URL('./micro.ts', import.meta.url));

/** A process that runs the micro-benchmarks on the code of a checkout, each when it is asked to. */
export class MicroProcess {
  private readonly root: string;
  private readonly demands: Writable;
  private readonly lines: AsyncIterator<string>;
  private readonly ended: Promise<unknown[]>;

  constructor(root: string) {
    this.root = root;
    const child = spawn(process.execPath, [program, '--json', '--stepwise', '--root', root], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    killWithUs(child);
    this.demands = child.stdin;
    // It may have ended; its lines and its exit code tell.
    child.stdin.on('error', () => undefined);
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.ended = once(child, 'exit');
  }

  /** Runs the next one. Resolves with `undefined` when there is none. Throws if the process breaks off. */
  async measureNext(): Promise<MicroCost | undefined> {
    this.demands.write('\n');
    const { value, done } = await this.lines.next();
    if (!done) {
      const { name, cpuNs } = line.parse(JSON.parse(value));
      return cpuNs === null ? { name } : { name, us: cpuNs / 1000 };
    }
    const [code, signal] = await this.ended;
    if (code === 0) return undefined;
    throw new Error(`the micro-benchmarks of ${this.root} broke off: ${signal ?? `exit code ${code}`}`);
  }
}
