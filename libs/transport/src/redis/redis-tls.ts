import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import type { RedisNode } from './redis-address.ts';

/**
 * The TLS options for a single server, if its URL asks for TLS. Proxies choose among many servers by the name sent
 * (SNI).
 */
export function serverTls(url: string): { tls?: ConnectionOptions } {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'rediss:') return {};
  const isName = hostname !== '' && !hostname.startsWith('[') && isIP(hostname) === 0;
  return { tls: isName ? { servername: hostname } : {} };
}

/**
 * Checks the certificates of a group's servers against Node's authorities. Sentinels and clusters often announce
 * servers by IP address, which few certificates name. Such a server may show the certificate of any host in `nodes`,
 * because the operator has named those.
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
