import type { Flags } from '../flags.ts';
import { findListeners } from '../machine/listeners.ts';
import type { Contender } from './contender.ts';

/** Another gateway at a URL. If it runs on this machine, the CPU time of whoever listens at its port is measured. */
export function openOtherGateway({ name, url, key, headers }: Flags['urls'][number]): Contender {
  const { hostname, port, protocol } = new URL(url);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return {
    kind: 'other',
    name,
    url,
    ...(key !== undefined && { key }),
    headers,
    // Looked up before every load: some gateways replace their processes.
    get roles() {
      const pids = isHere ? findListeners(Number(port || defaultPort)) : [];
      return pids.map((pid) => ({ role: 'other', pid }));
    },
    stop: async () => undefined,
  };
}
