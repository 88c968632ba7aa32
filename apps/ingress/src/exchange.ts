import {
  type ErrorInfo,
  type GenerationEvent,
  isContent,
  type RateState,
  type Usage,
} from '@sluice/canonical';
import type { HttpFacts } from '@sluice/formats';
import type { DurationSeries, IngressMetrics, Logger, Outcome, TraceSpan, Tracing } from '@sluice/runtime';
import type { Caller } from '@sluice/tenancy';

/** The facts of one request that its log line and its metrics report. Never its content, never its credential. */
export interface Exchange {
  readonly requestId: string;
  /** What was known of the call before its body was read. */
  readonly facts: HttpFacts;
  /** Monotonic milliseconds. */
  readonly arrivedAt: number;
  /** A balancer's or a coding CLI's probe: it is neither counted nor logged as a request. */
  isProbe?: boolean;
  /** The format that answers; set as soon as the route is known. */
  format: string;
  /** Absent until the credential has been accepted. */
  caller?: Caller;
  /** Size of the body; absent until it has been read. */
  bodyBytes?: number;
  /** The memory that is reserved for its prompt until its end. */
  prompt?: { tenant: string; bytes: number };
  /** Id of the configured model; absent until the name that the client gave has been resolved. */
  model?: string;
  /** Id of the model that the client asked for, where another one answers instead. */
  askedModel?: string;
  isStream?: boolean;
  /** How many answers it asks for; absent until its body has been read. */
  choices?: number;
  queueWaitMs?: number;
  /** When its first generation was claimed. Monotonic milliseconds; absent until then. */
  claimedAt?: number;
  attempts?: number;
  /** The worker that had it last; absent while it waits, and if it never entered the queue. */
  worker?: string;
  firstContentAt?: number;
  lastContentAt?: number;
  /** The metric series for the time between its tokens; set with the second token. */
  tokenGaps?: DurationSeries;
  /** The tokens that it is charged for; absent if it never entered the queue. */
  usage?: Usage;
  /** The same for each model that has spent any; absent if none had when another one was turned to. */
  byModel?: ModelUsage[];
  /** Absent without tracing, and until it is known what is asked. */
  span?: TraceSpan;
  outcome?: Outcome;
  /** How much is left of the caller's rates; absent if admission was not asked or did not answer. */
  rates?: readonly RateState[];
  /** Details of the error, if the outcome is one. */
  failure?: Pick<ErrorInfo, 'detail' | 'refusedBy'>;
}

/** The tokens that one model has spent on a request. */
interface ModelUsage extends Pick<Usage, (typeof tokenCounts)[number]> {
  model: string;
}

/** Where the facts of a request are reported. */
export interface ExchangeServices {
  metrics: IngressMetrics;
  logger: Logger;
  /** Absent if no collector of traces is set. */
  tracing?: Tracing | undefined;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/** Notes the events that were delivered to the client. Call it once per batch, after the write. */
export function noteEvents(
  exchange: Exchange,
  events: readonly GenerationEvent[],
  services: ExchangeServices,
): void {
  for (const event of events) {
    if (event.type === 'finish') exchange.outcome ??= 'ok';
    else if (event.type === 'error') noteError(exchange, event.error);
  }
  if (!events.some(isContent)) return;
  const at = services.monotonic();
  if (exchange.firstContentAt === undefined) {
    exchange.firstContentAt = at;
    services.metrics.timeToFirstToken.observe(
      { format: exchange.format, model: exchange.model ?? '' },
      at - exchange.arrivedAt,
    );
  } else if (exchange.lastContentAt !== undefined && isOneAnswer(exchange)) {
    exchange.tokenGaps ??= services.metrics.interTokenLatency.child({ format: exchange.format });
    exchange.tokenGaps.observe(at - exchange.lastContentAt);
  }
  exchange.lastContentAt = at;
}

/** Several answers come side by side, so the times between their tokens are those of no answer. */
export function isOneAnswer({ choices = 1 }: Exchange): boolean {
  return choices === 1;
}

/** Notes how often a generation of a request was tried at most, whatever model it was of, and who had them last. */
export function noteAttempts(
  exchange: Exchange,
  generations: readonly ({ attempts: number; worker: string | undefined } | undefined)[],
): void {
  exchange.attempts ??= 0;
  for (const generation of generations) {
    if (!generation) continue;
    exchange.attempts = Math.max(exchange.attempts, generation.attempts);
    if (generation.worker !== undefined) exchange.worker = generation.worker;
  }
}

const tokenCounts = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const;

/** Adds what an answer of the exchange's model has cost. */
export function noteUsage(exchange: Exchange, usage: Usage): void {
  const { usage: sum } = exchange;
  if (exchange.byModel) noteShare(exchange, usage);
  if (!sum) {
    exchange.usage = usage;
    return;
  }
  exchange.usage = { ...sum };
  for (const count of tokenCounts)
    if (usage[count] !== undefined) exchange.usage[count] = (sum[count] ?? 0) + usage[count];
}

function noteShare(exchange: Exchange, usage: Usage): void {
  const { model, byModel = [] } = exchange;
  if (model === undefined) return;
  const share: ModelUsage = { model };
  for (const count of tokenCounts) if (usage[count]) share[count] = usage[count];
  if (Object.keys(share).length > 1) exchange.byModel = [...byModel, share];
}

/** How one model's answer to a request waited and came, and who had it last. */
export interface Run {
  queueWaitMs: number | undefined;
  claimedAt: number | undefined;
  worker: string | undefined;
  firstContentAt: number | undefined;
  lastContentAt: number | undefined;
}

/**
 * Notes which model is to answer, or `asked` again if none is left. Call it once the answer before is settled. Forgets
 * how that one waited and came, and returns it.
 */
export function noteAnotherModel(exchange: Exchange, asked: string, model: string): Run {
  const { queueWaitMs, claimedAt, worker, firstContentAt, lastContentAt, usage } = exchange;
  if (usage && !exchange.byModel) noteShare(exchange, usage);
  delete exchange.queueWaitMs;
  delete exchange.claimedAt;
  delete exchange.worker;
  delete exchange.firstContentAt;
  delete exchange.lastContentAt;
  exchange.model = model;
  if (model === asked) delete exchange.askedModel;
  else exchange.askedModel = asked;
  return { queueWaitMs, claimedAt, worker, firstContentAt, lastContentAt };
}

/** Makes the error the outcome, even if another answer to the same request had succeeded before. */
export function noteError(
  exchange: Exchange,
  { kind, detail, refusedBy }: Pick<ErrorInfo, 'kind' | 'detail' | 'refusedBy'>,
): void {
  exchange.outcome = kind;
  exchange.failure = { ...(detail && { detail }), ...(refusedBy && { refusedBy }) };
}
