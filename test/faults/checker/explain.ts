import type { FaultRecord, Observation, RunLog } from '../observation.ts';
import { needsStandIn } from '../plan.ts';

/** A fault has effects for this long after it was undone: leases, reconnects, lost jobs. */
const aftermathMs = 15_000;

/** The faults that may have touched a request. */
export function faultsDuring({ startedAt, endedAt }: Observation, { faults }: RunLog): FaultRecord[] {
  return faults.filter((fault) => fault.startedAt <= endedAt && fault.endedAt + aftermathMs >= startedAt);
}

/**
 * What excuses what.
 * - A cut connection: the death of its own ingress, a proxy that cut it, or a client too slow to be served.
 * - An error: any fault, or an upstream that was told to break, unless another model had to answer then.
 * - Lateness: its ingress or the way to it stood still.
 */
export function isExplained(
  what: 'cut' | 'error' | 'late',
  { plan, status }: Observation,
  faults: readonly FaultRecord[],
): boolean {
  const isOwnIngress = ({ target }: FaultRecord) =>
    target === `ingress ${plan.ingress}` || target === `client-ingress ${plan.ingress}`;
  if (what === 'late') return plan.client.kind === 'reads-slowly' || faults.some(isOwnIngress);
  if (what === 'cut') return faults.some(isOwnIngress);
  return faults.length > 0 || (plan.upstream !== undefined && !needsStandIn(plan) && status !== 401);
}
