import { SluiceError } from '@sluice/canonical';
import { poolQueueKeys } from '@sluice/transport';
import type { Claim, PoolPolicy } from './claim.ts';
import type { Answer } from './ledger.ts';
import type { Check } from './limit.ts';
import { type Book, countKey, meanKey } from './names.ts';
import { saturationRetryAfterMs } from './retry-after.ts';

/** The `refusedBy` of a full pool. */
export const saturationRefusal = 'saturation';
/** The `refusedBy` of a pool without workers. */
export const workersRefusal = 'workers';

/** The mean service time until the first generation has been measured: that of a short answer of a mid-sized model. */
export const priorMeanMs = 2_000;

/** A pool with workers lets at least this many requests wait, however slow it is, so that a freed slot finds work. */
const minWaiting = 1;

/** The check of a pool's places, which running and waiting requests take. */
export function poolCheck(pool: string, { slots, waitBudgetMs, maxWaiting }: PoolPolicy, book: Book): Check {
  return {
    primitive: 'lease',
    backlog: {
      slots,
      waitBudgetMs,
      minWaiting,
      ...(maxWaiting !== undefined && { maxWaiting }),
      meanKey: meanKey(book),
      busyKey: countKey(book, 'busy', 'since'),
      priorMeanMs,
      queue: poolQueueKeys(pool),
    },
  };
}

/** The check of one tenant's places in a pool, which limits its share of a full pool: see scripts/reserve.lua. */
export function tenantShareCheck(weight: number): Check {
  return { primitive: 'lease', ...(weight !== 1 && { weight }) };
}

/** The refusal of a full pool. `inFlight`: its generations, waiting or running. */
export function refuseSaturated(
  claim: Claim,
  inFlight: number,
  { waitMs, meanMs = priorMeanMs }: Pick<Answer, 'waitMs' | 'meanMs'>,
): SluiceError {
  const { slots } = claim.poolPolicy;
  if (waitMs === undefined) {
    return new SluiceError(
      'saturated',
      `pool ${claim.pool} has ${slots} slots, and no room for ${claim.jobs} generations at once`,
      { refusedBy: saturationRefusal, retryable: false },
    );
  }
  return new SluiceError(
    'saturated',
    `pool ${claim.pool} is saturated: ${inFlight} generations for ${slots} slots`,
    {
      refusedBy: saturationRefusal,
      retryAfterMs: saturationRetryAfterMs({ inFlight: inFlight + claim.jobs, slots, meanMs }),
    },
  );
}

/** The refusal of a pool that no worker serves. */
export function refuseWithoutWorkers({ pool }: Claim): SluiceError {
  return new SluiceError('unavailable', `no worker serves pool ${pool} at the moment`, {
    refusedBy: workersRefusal,
    retryAfterMs: 2000,
  });
}
