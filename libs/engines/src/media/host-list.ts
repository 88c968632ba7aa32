import { BlockList, isIP } from 'node:net';

/** Hosts by name, address and network, as an operator lists them. */
export interface HostList {
  /** `host` as in a URL: lower case, IPv6 without brackets. */
  hasName(host: string): boolean;
  hasAddress(address: string): boolean;
}

const hostName = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

/**
 * Whether this is a name such as `cdn.example.com`, `*.example.com`, an IP address or a network such as `10.1.0.0/16`.
 */
export function isHostEntry(entry: string): boolean {
  if (isIP(entry) > 0) return true;
  if (entry.includes('/')) return parseNetwork(entry) !== undefined;
  return hostName.test(entry) && !/(?:^|\.)[0-9]+$/.test(entry);
}

/** The list of checked entries. `*.example.com` includes every name below it, but not itself. */
export function parseHostList(entries: readonly string[]): HostList {
  const names = new Set<string>();
  const parents: string[] = [];
  const networks = new BlockList();
  for (const entry of entries.map((text) => text.toLowerCase())) {
    const network = parseNetwork(entry);
    if (network) networks.addSubnet(network.address, network.prefix, familyOf(network.address));
    else if (entry.startsWith('*.')) parents.push(entry.slice(1));
    else names.add(entry);
  }
  return {
    hasName: (host) => names.has(host) || parents.some((parent) => host.endsWith(parent)),
    hasAddress: (address) => networks.check(address, familyOf(address)),
  };
}

/** The name that `BlockList` has for the kind of an address. */
export function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function parseNetwork(entry: string): { address: string; prefix: number } | undefined {
  const [address = '', digits, ...more] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const widest = version === 4 ? 32 : 128;
  if (digits === undefined) return { address, prefix: widest };
  const prefix = Number(digits);
  return /^\d{1,3}$/.test(digits) && prefix <= widest ? { address, prefix } : undefined;
}
