import { dataLoss } from '../nemesis/redis-faults.ts';
import type { FaultRecord, Observation, RunLog } from '../observation.ts';
import { isComplete } from './check-answers.ts';
import { type LoggedRequest, requestsLogged } from './request-lines.ts';
import type { Violation } from './violation.ts';

/** Within this time, whoever meets an expired lease settles it. */
const settleLimitMs = 30_000;
/** The estimate of every prompt in the workload is at most this. */
const inputLimit = 120;

/** What a tenant was charged, and the range in which that must lie. */
export interface Charge {
  tenant: string;
  spent: number;
  least: number;
  /** The most that it may be. A wrong charge up to the difference from `spent` would not be seen. */
  most: number;
}

/**
 * The written rule: a complete answer costs its reported usage, and what a model had delivered for which another one
 * then stood in. One that broke off costs its input and what was
 * delivered, as its ingress logged it, or nothing if it never ran. If the ingress died, there is no log line, and
 * anything up to the cost of the whole answer is right.
 */
export function chargesOf({ budgets, observations, lines, faults, lostCharges }: RunLog): Charge[] {
  const logged = requestsLogged(lines);
  const losses = faults.filter(({ kind }) => kind === dataLoss);
  const last = new Map(budgets.map((sample) => [sample.tenant, sample.spent]));
  const charges = new Map<string, Charge>();
  for (const [tenant, spent] of last) charges.set(tenant, { tenant, spent, least: 0, most: 0 });
  for (const { tenant, spent } of lostCharges) {
    const charge = charges.get(tenant);
    if (charge) charge.spent += spent;
  }
  for (const observation of observations) {
    const charge = charges.get(observation.plan.tenant);
    if (!charge) continue;
    const { usage } = observation.answer;
    const whole = isComplete(observation) && usage ? usage.inputTokens + usage.outputTokens : undefined;
    const isOfOneModel = whole !== undefined && observation.plan.model !== 'either';
    charge.most += isOfOneModel ? whole : mostOf(observation, logged.get(observation.requestId ?? ''));
    if (whole !== undefined && !mayBeForgotten(observation, losses)) charge.least += whole;
  }
  return [...charges.values()];
}

/** Whether Redis lost its data between the reservation of a request and the end of all attempts to settle it. */
function mayBeForgotten({ startedAt, endedAt }: Observation, losses: readonly FaultRecord[]): boolean {
  return losses.some((loss) => loss.startedAt <= endedAt + settleLimitMs && loss.endedAt >= startedAt);
}

function mostOf({ status, plan }: Observation, line: LoggedRequest | undefined): number {
  if (line?.attempts === 0) return 0;
  if (line) return (line.inputTokens ?? inputLimit) + (line.outputTokens ?? plan.tokens);
  const mayHaveRun = status === undefined || status === 200 || status >= 500;
  return mayHaveRun ? (plan.model === 'either' ? 2 : 1) * (inputLimit + plan.tokens) : 0;
}

/** Checks invariant 5: nobody pays twice, and nobody too little. */
export function checkCharges(log: RunLog): Violation[] {
  return chargesOf(log).flatMap(({ tenant, spent, least, most }): Violation[] => {
    const detail = `${tenant} was charged ${spent} for ${least} to ${most} tokens`;
    if (spent > most) return [{ invariant: 5, kind: 'charged-twice', detail }];
    if (spent < least) return [{ invariant: 5, kind: 'charged-too-little', detail }];
    return [];
  });
}
