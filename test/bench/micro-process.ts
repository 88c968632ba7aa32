import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { killWithUs } from './machine/kill-with-us.ts';

const cost = z.looseObject({ name: z.string(), cpuNs: z.number() });
const program = fileURLToPath(new URL('./micro.ts', import.meta.url));

/**
 * Runs all micro-benchmarks on the code of a checkout, in a process of its own. Returns microseconds of CPU by name.
 */
export async function measureMicro(root: string): Promise<ReadonlyMap<string, number>> {
  const child = spawn(process.execPath, [program, '--json', '--root', root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithUs(child);
  const ended = once(child, 'exit');
  const costs = new Map<string, number>();
  for await (const line of createInterface({ input: child.stdout })) {
    const { name, cpuNs } = cost.parse(JSON.parse(line));
    costs.set(name, cpuNs / 1000);
  }
  await ended;
  return costs;
}
