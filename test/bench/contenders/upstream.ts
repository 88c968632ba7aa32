import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { killWithUs } from '../machine/kill-with-us.ts';
import type { Contender } from './contender.ts';

/** The load test's own program. */
export const loadtest = fileURLToPath(
  new URL('../../../apps/loadtest/bin/sluice-loadtest.mjs', import.meta.url),
);

const statistics = z.looseObject({
  requests: z.number(),
  active: z.number(),
  finished: z.number(),
  tokens: z.number(),
});

/** The fake upstream: the model server behind all contenders, and, called directly, their reference. */
export interface Upstream extends Contender {
  /** What it has served so far. */
  count(): Promise<z.output<typeof statistics>>;
}

/** Starts the fake upstream in a process of its own. `port`: 0 takes any that is free. Rejects if it can't listen. */
export async function startUpstream(port = 0): Promise<Upstream> {
  const child = spawn(process.execPath, [loadtest, 'upstream', '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithUs(child);
  const lines = createInterface({ input: child.stdout });
  // A program that could not listen has said why on stderr, and closes its output without a line.
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  const url = /http:\/\/[\d.]+:\d+/.exec(String(line))?.[0];
  if (url === undefined || child.pid === undefined)
    throw new SluiceError('unavailable', 'the fake upstream did not start');
  return {
    kind: 'direct',
    name: 'direct',
    url,
    roles: [{ role: 'upstream', pid: child.pid }],
    count: async () => statistics.parse(await (await fetch(`${url}/stats`)).json()),
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
