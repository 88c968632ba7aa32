import type { Usage } from '@sluice/canonical';
import type { ScopedLimits } from '@sluice/tenancy';
import type { QueueEntry } from '@sluice/transport';

/** What a request asks for before it may enter the queue. */
export interface Claim {
  /** Unique per request; a repeated claim with the same id takes nothing more. */
  requestId: string;
  tenant: string;
  keyId: string;
  /** The tenant's share of a full pool, relative to a tenant of weight 1. */
  weight: number;
  model: string;
  pool: string;
  /** Generations that this request starts at once (`n`); each needs a slot. */
  jobs: number;
  estimatedInputTokens: number;
  /** The most tokens that each generation may write; absent means not known. */
  maxOutputTokens?: number;
  /** Whether an admitted claim of another id has counted as this request already. Absent means no. */
  isCounted?: boolean;
  /** The policies of the caller. */
  limits: ScopedLimits;
  poolPolicy: PoolPolicy;
}

/** How many requests a pool may take. */
export interface PoolPolicy {
  /** Generations that the living workers can run at once; 0 means that there is no worker. */
  slots: number;
  /** How long a request may be expected to wait for a slot, in milliseconds. */
  waitBudgetMs: number;
  /** The most requests that may wait, however short the wait; absent means that only the expected wait counts. */
  maxWaiting?: number;
}

/** The jobs that enter the pool's queue in the same step that admits them. */
export interface Entrance {
  /** One entry per job of the claim. Called once, unless the claim is refused without asking Redis. */
  entries(): readonly QueueEntry[];
  /** Whether a worker has claimed one of them. Then they were admitted, even if the reply was lost. */
  isRunning(): boolean;
}

/** How a request ended. */
export interface Outcome {
  /**
   * The tokens that were spent. Missing numbers are replaced by the input estimate and the output seen, so zeros have
   * to be given if nothing ran.
   */
  usage?: Usage;
  /** How long a generation of the request occupied its slot, in milliseconds; absent if none ran to its end. */
  durationMs?: number;
  /**
   * Where none ran to its end: how long one that failed or was stopped had its slot. It counts where it is more than the
   * mean, as with a backend that takes requests and says nothing.
   */
  heldMs?: number;
}

/** The reservations of an admitted request. It must be settled, whatever happens to the request. */
export interface Ticket {
  readonly requestId: string;
  /** Priority of its job at this index, from 1 (first) to 2,097,151, with a fraction: see scripts/fair-priority.lua. */
  priorityOf(job: number): number;
  /**
   * Notes the output tokens so far, which are charged if this process dies. Cheap: they go to Redis with the next
   * renewal.
   */
  sawOutput(tokens: number): void;
  /**
   * Gives back the request's places in the pool before it is settled, when its workers are done and the client still
   * reads. Only the first call counts. `durationMs`: how long a generation of the request occupied its slot.
   */
  freePlaces(durationMs: number): void;
  /**
   * Replaces the estimate by what was spent. Only the first call counts. Never rejects: a settlement that Redis does
   * not take is repeated until it does.
   */
  settle(outcome: Outcome): Promise<void>;
}
