import { Resolver } from 'node:dns/promises';

/** All addresses of a host; empty if there are none. Never rejects. */
export type LookUp = (host: string, signal: AbortSignal) => Promise<string[]>;

const tryMs = 2_000;
const tries = 2;

/**
 * Asks DNS, IPv4 first. The system's own look-up also knows the hosts file and search domains, but it would block one
 * of the process's few threads for as long as a stranger's name server likes.
 */
export const lookUpByDns: LookUp = async (host, signal) => {
  const resolver = new Resolver({ timeout: tryMs, tries });
  const cancel = () => resolver.cancel();
  if (signal.aborted) return [];
  signal.addEventListener('abort', cancel, { once: true });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  signal.removeEventListener('abort', cancel);
  return found.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
};
