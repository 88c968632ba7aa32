import { ConfigError } from './config-error.ts';

/**
 * The operations ports of several processes, consecutive from the first; 0 lets the system choose each. Throws
 * `ConfigError` if they leave the range of ports or include `apiPort`.
 */
export function opsPorts(first: number, processes: number, apiPort?: number): string[] {
  if (first === 0) return Array.from({ length: processes }, () => '0');
  const last = first + processes - 1;
  const mistake = (message: string) => new ConfigError('environment', [{ path: 'SLUICE_OPS_PORT', message }]);
  if (last > 65_535) throw mistake(`leaves no port for each of ${processes} processes`);
  if (apiPort !== undefined && apiPort >= first && apiPort <= last)
    throw mistake(`means ${first} to ${last} for ${processes} processes, and SLUICE_PORT is one of them`);
  return Array.from({ length: processes }, (_, seat) => String(first + seat));
}
