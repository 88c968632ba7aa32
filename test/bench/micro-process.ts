import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { killWithUs } from './machine/kill-with-us.ts';

const cost = z.looseObject({ name: z.string(), cpuNs: z.number().nullable() });
const program = fileURLToPath(new URL('./micro.ts', import.meta.url));

/**
 * Runs all micro-benchmarks on the code of a checkout, in a process of its own. Returns microseconds of CPU by name;
 * undefined for one that failed, as an older checkout may without what it measures. Throws if the process breaks off.
 */
export async function measureMicro(root: string): Promise<ReadonlyMap<string, number | undefined>> {
  const child = spawn(process.execPath, [program, '--json', '--root', root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithUs(child);
  const ended = once(child, 'exit');
  const costs = new Map<string, number | undefined>();
  for await (const line of createInterface({ input: child.stdout })) {
    const { name, cpuNs } = cost.parse(JSON.parse(line));
    costs.set(name, cpuNs === null ? undefined : cpuNs / 1000);
  }
  const [code, signal] = await ended;
  if (code !== 0)
    throw new Error(`the micro-benchmarks of ${root} broke off: ${signal ?? `exit code ${code}`}`);
  return costs;
}
