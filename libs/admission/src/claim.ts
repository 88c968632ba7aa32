import type { Usage } from '@sluice/canonical';
import type { ScopedLimits } from '@sluice/tenancy';
import type { QueueEntry } from '@sluice/transport';

/** What a request asks for before it may enter the queue. */
export interface Claim {
  /** Unique per request; asking twice under one id takes once. */
  requestId: string;
  tenant: string;
  keyId: string;
  /** How much of a full pool is the tenant's, beside one of weight 1. */
  weight: number;
  model: string;
  pool: string;
  /** Generations that this request starts at once (`n`); each needs a slot. */
  jobs: number;
  estimatedInputTokens: number;
  /** Most tokens that each generation may write; absent means not known. */
  maxOutputTokens?: number;
  /** From the caller. */
  limits: ScopedLimits;
  poolPolicy: PoolPolicy;
}

/** How much a pool takes. */
export interface PoolPolicy {
  /** Generations that the workers alive can run at once; 0 means that no worker is there. */
  slots: number;
  /** How long a request may be expected to wait for a slot, in milliseconds. */
  waitBudgetMs: number;
  /** Most requests that may wait, whatever the wait; absent means that time alone decides. */
  maxWaiting?: number;
}

/** What enters the pool's queue in the step that admits it. */
export interface Entrance {
  /** One for each job of the claim. Asked for once, when nothing that is known here refuses the claim. */
  entries(): readonly QueueEntry[];
  /** Whether a worker has spoken of one of them: then they were admitted, although the answer may be lost. */
  isRunning(): boolean;
}

/** How a request ended. */
export interface Outcome {
  /**
   * What was spent. A missing number is replaced by the input estimate or the output seen, so whoever knows
   * that nothing ran says so with zeros.
   */
  usage?: Usage;
  /** How long a slot was busy with a generation of it, in milliseconds; absent where none ran to its end. */
  durationMs?: number;
}

/** An admitted request's reservations. It must be settled, whatever happens to the request. */
export interface Ticket {
  readonly requestId: string;
  /** BullMQ priority of one of its jobs, by its place among them, 1 (first) to 2,097,151: see scripts/fair-priority.lua. */
  priorityOf(job: number): number;
  /** Notes the output tokens so far, which are charged if this process dies. Cheap: Redis hears it with the next renewal. */
  sawOutput(tokens: number): void;
  /**
   * Gives the places of the pool back before the request is settled: its workers have done all, and the client is
   * still reading. Only the first call counts.
   *   durationMs: how long a slot was busy with a generation of it
   */
  freePlaces(durationMs: number): void;
  /**
   * Replaces the estimate by what was spent. Only the first call counts. Never rejects: what Redis doesn't take
   * now is tried again until it does.
   */
  settle(outcome: Outcome): Promise<void>;
}
