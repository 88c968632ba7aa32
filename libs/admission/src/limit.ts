import { type Json, type RateState, SluiceError } from '@sluice/canonical';
import type { PoolQueueKeys } from '@sluice/transport';
import type { z } from 'zod';
import type { Claim } from './claim.ts';

/** Whom a policy binds. */
export type Scope = 'tenant' | 'key';

/**
 * One question to the ledger, of three kinds; a claim adds the amount that it takes. `max` is the most that may be taken.
 * - lease: held until the request ends, or until nobody renews it. `weight` of the tenant whose places of a pool are
 *   counted; absent means 1.
 * - rate: a bucket that runs empty within `periodMs`. `settles`: the estimate is replaced by the tokens spent.
 * - budget: the estimate is reserved, the tokens spent are booked; `periodMs` absent means for ever.
 */
export type Check =
  | { primitive: 'lease'; max?: number; backlog?: Backlog; weight?: number }
  | { primitive: 'rate'; max: number; periodMs: number; settles: boolean }
  | { primitive: 'budget'; max: number; periodMs?: number };

/**
 * A lease's `max` that follows from how long the pool takes for a generation. The check behind it counts those of the
 * caller's tenant.
 */
export interface Backlog {
  slots: number;
  waitBudgetMs: number;
  minWaiting: number;
  maxWaiting?: number;
  /** Key of the pool's mean service time. */
  meanKey: string;
  /** Key of the instant since when the pool is busy. */
  busyKey: string;
  /** Mean service time in milliseconds before anything was measured. */
  priorMeanMs: number;
  /** Where its jobs wait, as scripts of the queue name it. */
  queue: PoolQueueKeys;
}

/** What a claim is expected to cost. */
export interface Estimate {
  inputTokens: number;
  /** Input once, plus the most that all generations may write. */
  totalTokens: number;
}

/** Why a check said no. */
export interface Refused {
  scope: Scope;
  /** What the claim would have taken. */
  amount: number;
  /** What was taken already. */
  level: number;
  /** After which time there would have been so much more room; 0 means at any moment, absent never. */
  waitMs?: number;
}

/** A rule that a policy may set for a tenant or a key. `defineLimit` makes one fit for the registry. */
export interface LimitDefinition<Policy> {
  readonly name: string;
  /** One sentence for operators. */
  readonly summary: string;
  /** Short form of a policy on the command line, for people: `60/1m`. */
  readonly example: string;
  readonly policy: z.ZodType<Policy>;
  check(policy: Policy): Check;
  /** What its rate counts, so that callers are told in headers how much is left; absent for those of which clients know no header. */
  readonly counts?: RateState['counts'];
  /** What a claim takes of it. */
  amount(claim: Claim, policy: Policy, estimate: Estimate): number;
  /** The error that a refused caller sees. It names the limit, whom it binds and its size. */
  refuse(policy: Policy, refused: Refused): SluiceError;
}

/** A policy that was read and waits for claims. */
export interface BoundLimit {
  readonly name: string;
  readonly counts: RateState['counts'] | undefined;
  readonly check: Check;
  amount(claim: Claim, estimate: Estimate): number;
  refuse(refused: Refused): SluiceError;
}

/** A limit whose policy type is its own business. */
export interface Limit extends Pick<LimitDefinition<unknown>, 'name' | 'summary' | 'example' | 'policy'> {
  /** Throws `internal` for a stored policy that doesn't fit: better no service than service without limits. */
  bind(policy: Json): BoundLimit;
}

export function defineLimit<Policy>(definition: LimitDefinition<Policy>): Limit {
  const { name, summary, example, policy: schema } = definition;
  return {
    name,
    summary,
    example,
    policy: schema,
    bind(stored) {
      const parsed = schema.safeParse(stored);
      if (!parsed.success) {
        throw new SluiceError('internal', `a stored policy of ${name} is not valid`, { cause: parsed.error });
      }
      return {
        name,
        counts: definition.counts,
        check: definition.check(parsed.data),
        amount: (claim, estimate) => definition.amount(claim, parsed.data, estimate),
        refuse: (refused) => {
          const { kind, message, options } = definition.refuse(parsed.data, refused);
          return new SluiceError(kind, message, { ...options, refusedBy: name });
        },
      };
    },
  };
}
