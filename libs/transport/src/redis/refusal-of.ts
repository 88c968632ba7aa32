import { reached } from '../links.ts';
import { openRedis } from './connection.ts';

/** For tests: what an operator reads when the Redis of `url` has failed once and is given up then. */
export async function refusalOf(url: string): Promise<string> {
  const limit = new AbortController();
  const client = openRedis(url, { profile: 'worker', name: 'process', onError: () => undefined });
  // Whoever waits for it hears of the failure first.
  client.once('error', () => setImmediate(() => limit.abort()));
  try {
    await reached(url, [client], limit.signal);
  } catch (error) {
    return String(error);
  } finally {
    client.disconnect();
  }
  return 'it was reached';
}
