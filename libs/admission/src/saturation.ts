import { SluiceError } from '@sluice/canonical';
import { poolQueueKeys } from '@sluice/transport';
import type { Claim, PoolPolicy } from './claim.ts';
import type { Check } from './limit.ts';
import { countKey, meanKey, type Slot } from './names.ts';
import { saturationRetryAfterMs } from './retry-after.ts';

/** `refusedBy` of the two errors below. */
export const saturationRefusal = 'saturation';
export const workersRefusal = 'workers';

/** Two seconds: a short answer of a mid-sized model. One measured generation replaces it. */
export const priorMeanMs = 2_000;

/** However slow its generations are, a pool with workers lets so many wait that a finished slot finds work. */
const minWaiting = 1;

/** Places of a pool, running or waiting. */
export function poolCheck(pool: string, { slots, waitBudgetMs, maxWaiting }: PoolPolicy, slot: Slot): Check {
  return {
    primitive: 'lease',
    backlog: {
      slots,
      waitBudgetMs,
      minWaiting,
      ...(maxWaiting !== undefined && { maxWaiting }),
      meanKey: meanKey(slot),
      busyKey: countKey(slot, 'busy', 'since'),
      priorMeanMs,
      queue: poolQueueKeys(pool),
    },
  };
}

/** Places of one tenant in a pool, for fairness: of a full pool each tenant may have some, see scripts/reserve.lua. */
export function tenantShareCheck(weight: number): Check {
  return { primitive: 'lease', ...(weight !== 1 && { weight }) };
}

export function refuseSaturated(claim: Claim, inFlight: number, meanMs: number): SluiceError {
  const { slots } = claim.poolPolicy;
  if (inFlight === 0) {
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

export function refuseWithoutWorkers({ pool }: Claim): SluiceError {
  return new SluiceError('unavailable', `no worker serves pool ${pool} at the moment`, {
    refusedBy: workersRefusal,
    retryAfterMs: 2000,
  });
}
