import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import type { RedisNode } from './redis-address.ts';

/** How a single server is reached by TLS, where its URL asks for that: proxies before many servers choose by its name. */
export function serverTls(url: string): { tls?: ConnectionOptions } {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'rediss:') return {};
  const isName = hostname !== '' && !hostname.startsWith('[') && isIP(hostname) === 0;
  return { tls: isName ? { servername: hostname } : {} };
}

/**
 * How the certificates of a group's servers are checked. Its authorities are those of Node. Sentinels and clusters often
 * tell of a server by its IP address, which few certificates name: such a server may show one for a host among `nodes`,
 * which the operator has named.
 */
export function groupTls(nodes: readonly RedisNode[]): ConnectionOptions {
  return {
    checkServerIdentity(host, certificate) {
      const complaint = checkServerIdentity(host, certificate);
      if (complaint === undefined || isIP(host) === 0) return complaint;
      const isOfNode = (node: RedisNode) =>
        isIP(node.host) === 0 && !checkServerIdentity(node.host, certificate);
      return nodes.some(isOfNode) ? undefined : complaint;
    },
  };
}
