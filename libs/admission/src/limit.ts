import { type Json, type RateState, SluiceError } from '@sluice/canonical';
import type { PoolQueueKeys } from '@sluice/transport';
import type { z } from 'zod';
import type { Claim } from './claim.ts';

/** Whom a policy limits. */
export type Scope = 'tenant' | 'key';

/**
 * One check of the ledger, of three kinds. A claim adds the amount that it takes; `max` is the most that may be held.
 * - lease: held until the request ends or its lease expires. `backlog`: what the `max` of a pool's places is computed
 *   from. `weight`: that of the tenant whose places in a pool are counted; absent means 1.
 * - rate: a bucket that drains within `periodMs`. `settles`: at the end the estimate is replaced by the tokens spent.
 * - budget: the estimate is reserved, then the tokens spent are booked; `periodMs` absent means for ever.
 */
export type Check =
  | { primitive: 'lease'; max?: number; backlog?: Backlog; weight?: number }
  | { primitive: 'rate'; max: number; periodMs: number; settles: boolean }
  | { primitive: 'budget'; max: number; periodMs?: number };

/** The check of a policy. Only those of a pool go without a `max`. */
export type PolicyCheck = Check & { max: number };

/**
 * What the ledger needs to compute the `max` of a pool's lease from the pool's mean service time. The check after it
 * counts the places of the caller's tenant.
 */
export interface Backlog {
  slots: number;
  waitBudgetMs: number;
  minWaiting: number;
  maxWaiting?: number;
  /** Key of the pool's mean service time. */
  meanKey: string;
  /** Key of the instant at which the pool became busy. */
  busyKey: string;
  /** Mean service time in milliseconds before anything was measured. */
  priorMeanMs: number;
  /** Keys of the queue in which its jobs wait. */
  queue: PoolQueueKeys;
}

/** What a claim is expected to cost. */
export interface Estimate {
  inputTokens: number;
  /** Input once, plus the most that all generations may write. */
  totalTokens: number;
}

/** Why a check refused a claim. */
export interface Refused {
  scope: Scope;
  /** What the claim would have taken. */
  amount: number;
  /** What others had already taken. */
  level: number;
  /** After how long there would be room for the claim; 0 means at any moment, absent means never. */
  waitMs?: number;
}

/** A rule that a policy may set for a tenant or a key. `defineLimit` makes a `Limit` for the registry from it. */
export interface LimitDefinition<Policy> {
  readonly name: string;
  /** One sentence for operators. */
  readonly summary: string;
  /** Short form of a policy on the command line, for people: `60/1m`. */
  readonly example: string;
  readonly policy: z.ZodType<Policy>;
  check(policy: Policy): PolicyCheck;
  /**
   * What its rate counts, if the APIs have response headers that tell how much of it is left; absent if they have none.
   */
  readonly counts?: RateState['counts'];
  /**
   * How much a claim takes of it. A rate without `settles` is not asked about a claim that has counted already: that
   * takes nothing more.
   */
  amount(claim: Claim, policy: Policy, estimate: Estimate): number;
  /**
   * The error that a refused caller gets. It names the limit, its scope and its size. That what never fits is not worth
   * another try is added to it.
   */
  refuse(policy: Policy, refused: Refused): SluiceError;
}

/** A limit with a parsed policy, ready to check claims. */
export interface BoundLimit {
  readonly name: string;
  readonly counts: RateState['counts'] | undefined;
  readonly check: PolicyCheck;
  amount(claim: Claim, estimate: Estimate): number;
  refuse(refused: Refused): SluiceError;
}

/** A limit whose policy type is hidden, so that all limits fit into one list. */
export interface Limit extends Pick<LimitDefinition<unknown>, 'name' | 'summary' | 'example' | 'policy'> {
  /** Parses a stored policy. Throws `internal` if it does not fit: no service is better than service without limits. */
  bind(policy: Json): BoundLimit;
}

/** Makes a limit for the registry. */
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
      const check = definition.check(parsed.data);
      // Each model that a request turns to holds and spends for itself, but what it asks for it asks once.
      const isOnce = check.primitive === 'rate' && !check.settles;
      return {
        name,
        counts: definition.counts,
        check,
        amount: (claim, estimate) =>
          claim.isCounted && isOnce ? 0 : definition.amount(claim, parsed.data, estimate),
        refuse: (refused) => {
          const { kind, message, options } = definition.refuse(parsed.data, refused);
          // Otherwise clients would ask again and again for what never fits.
          const { retryAfterMs: _, ...rest } = options;
          const advice = refused.waitMs === undefined ? { ...rest, retryable: false } : options;
          return new SluiceError(kind, message, { ...advice, refusedBy: name });
        },
      };
    },
  };
}
