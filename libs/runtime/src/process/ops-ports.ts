import { ConfigError } from '../settings/config-error.ts';

/** Consecutive ports of one address. */
export interface Ports {
  host: string;
  /** 0 lets the system choose each. */
  first: number;
  count: number;
}

const everyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The operations ports of the processes of a supervisor. Throws as `assertOpsPorts` does. */
export function opsPorts(operations: Ports, api?: Ports): string[] {
  assertOpsPorts(operations, api);
  const { first, count } = operations;
  return Array.from({ length: count }, (_, seat) => String(first === 0 ? 0 : first + seat));
}

/** Throws `ConfigError` if operations ports, one for each process, leave the range of ports or meet the API's. */
export function assertOpsPorts(operations: Ports, api?: Ports): void {
  const { first, count } = operations;
  const last = lastOf(operations);
  const mistake = (message: string) => new ConfigError('environment', [{ path: 'SLUICE_OPS_PORT', message }]);
  if (last > 65_535) throw mistake(`leaves no port for each of ${count} processes`);
  if (!api || !havePortInCommon(operations, api)) return;
  if (count === 1) throw mistake(`is SLUICE_PORT as well (${first}); each needs a port of its own`);
  throw mistake(`means ${first} to ${last} for ${count} processes, and SLUICE_PORT is one of them`);
}

/** Whether nobody can listen on all of these ports: one of them is in both, of addresses that include each other. */
export function havePortInCommon(one: Ports, other: Ports): boolean {
  if (one.first === 0 || other.first === 0) return false;
  const doHostsMeet = one.host === other.host || everyAddress.has(one.host) || everyAddress.has(other.host);
  return doHostsMeet && one.first <= lastOf(other) && other.first <= lastOf(one);
}

function lastOf({ first, count }: Ports): number {
  return first + count - 1;
}
