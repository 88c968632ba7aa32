import { reached } from '../links.ts';
import { openRedis } from './connection.ts';

/** The sentence that an operator reads after the first failure to reach the Redis of `url`. */
export async function refusalOf(url: string): Promise<string> {
  const limit = new AbortController();
  const client = openRedis(url, { profile: 'worker', name: 'process', onError: () => undefined });
  // The abort is delayed so that `reached` has seen the error before.
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
