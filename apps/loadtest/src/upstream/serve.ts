import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { SluiceError } from '@sluice/canonical';
import { createHostClock } from '../clock.ts';
import { createRandom } from '../random.ts';
import { createFakeUpstream } from './server.ts';

/** Where the fake upstream listens. */
export interface ServeOptions {
  /** 0 takes a free port. */
  port: number;
  host: string;
  /** Ends the server. */
  signal: AbortSignal;
  print(text: string): void;
}

/** Serves the fake upstream until the signal aborts. Resolves to the exit code. */
export async function serveUpstream(options: ServeOptions): Promise<number> {
  const { port, host, signal } = options;
  const { server, stats, stop } = createFakeUpstream({
    clock: createHostClock(),
    random: createRandom(process.pid),
  });
  server.listen(port, host);
  try {
    await once(server, 'listening', { signal });
  } catch (cause) {
    throw new SluiceError('unavailable', `can't listen on ${host}:${port}`, { cause });
  }
  const address = server.address();
  const actual = typeof address === 'object' && address ? address.port : port;
  const shownHost = isIPv6(host) ? `[${host}]` : host;
  options.print(
    `fake upstream on http://${shownHost}:${actual}: paced-t50-n64-g10-b4-stamp and the like, /stats counts\n`,
  );
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  stop();
  options.print(`${JSON.stringify(stats)}\n`);
  return 0;
}
