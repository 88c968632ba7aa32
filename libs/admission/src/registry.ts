import type { Limit } from './limit.ts';
import { concurrency } from './limits/concurrency.ts';
import { requestRate } from './limits/request-rate.ts';
import { tokenBudget } from './limits/token-budget.ts';
import { tokenRate } from './limits/token-rate.ts';

/** Every limit that a policy may set, in the order in which they are checked. The only list of them. */
export const limits: readonly Limit[] = [concurrency, requestRate, tokenRate, tokenBudget];
