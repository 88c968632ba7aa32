import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Contender } from './contender.ts';
import { killWithUs } from './kill-with-us.ts';

/** The load test's own program. */
export const loadtest = fileURLToPath(
  new URL('../../apps/loadtest/bin/sluice-loadtest.mjs', import.meta.url),
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

/** Starts the fake upstream in a process of its own. `port`: 0 takes any that is free. */
export async function startUpstream(port = 0): Promise<Upstream> {
  const child = spawn(process.execPath, [loadtest, 'upstream', '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithUs(child);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const url = /http:\S+(?=:)|http:\/\/[\d.]+:\d+/.exec(String(line))?.[0];
  if (url === undefined || child.pid === undefined) throw new Error('the fake upstream does not serve');
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
