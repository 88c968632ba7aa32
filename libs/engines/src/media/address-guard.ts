import { BlockList, isIP } from 'node:net';
import { familyOf, type HostList } from './host-list.ts';

/** IPv4 addresses outside of the public Internet: the special-purpose registry, multicast, and services of clouds. */
const special4: readonly [string, number][] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers; metadata of one cloud
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // public by number, but one cloud's own service to its guests
  ['169.254.0.0', 16], // link-local; metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; metadata of one cloud
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];
/**
 * All public IPv6 addresses are global unicast. Outside of it are loopback, link-local, unique local, multicast and the
 * forms that embed an IPv4 address: mapped, compatible, translated (64:ff9b::/96 and 64:ff9b:1::/48).
 */
const globalUnicast6: readonly [string, number] = ['2000::', 3];
const special6: readonly [string, number][] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: carries an IPv4 address
  ['3fff::', 20], // documentation
];

/** Where an organisation has its own hosts. */
const private4and6: readonly [string, number][] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['fc00::', 7],
];
/** Metadata services that clouds run at private addresses: they give credentials to anyone who asks. */
const metadata: readonly [string, number][] = [
  ['100.100.100.200', 32],
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
];

const special = blockListOf([...special4, ...special6]);
const global6 = blockListOf([globalUnicast6]);
const privateHosts = blockListOf(private4and6);
const metadataHosts = blockListOf(metadata);

function blockListOf(networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, familyOf(network));
  return list;
}

/** Whether an address belongs to the public Internet. */
export function isPublicAddress(address: string): boolean {
  const family = familyOf(address);
  if (special.check(address, family)) return false;
  return family === 'ipv4' || global6.check(address, family);
}

/** Whether an organisation may have its own host there: no loopback, no link-local address, no cloud's metadata. */
function isPrivateAddress(address: string): boolean {
  const family = familyOf(address);
  return privateHosts.check(address, family) && !metadataHosts.check(address, family);
}

/** Where an operator lets the fetcher go. */
export interface AddressRules {
  /** Only these public hosts. Absent: all of them. */
  hosts?: HostList;
  /** Reachable although not public. A name only makes private addresses reachable; any other must be listed itself. */
  internal: HostList;
  /** Never reachable, whatever the other rules say. */
  denied: HostList;
}

/** Whether a host's name may be looked up at all. `host` may be an address. */
export function allowsHost(host: string, { hosts, internal, denied }: AddressRules): boolean {
  if (denied.hasName(host)) return false;
  return !hosts || isListed(host, hosts) || isListed(host, internal);
}

/** Whether we may connect to this address, which was found for the host. */
export function allowsAddress(host: string, address: string, rules: AddressRules): boolean {
  const { hosts, internal, denied } = rules;
  if (denied.hasAddress(address)) return false;
  if (internal.hasAddress(address)) return true;
  if (internal.hasName(host) && (isPrivateAddress(address) || isPublicAddress(address))) return true;
  return isPublicAddress(address) && (!hosts || isListed(host, hosts) || hosts.hasAddress(address));
}

function isListed(host: string, list: HostList): boolean {
  return list.hasName(host) || (isIP(host) > 0 && list.hasAddress(host));
}
