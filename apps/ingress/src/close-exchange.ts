import { traceIdOf, type Usage } from '@sluice/canonical';
import type { IngressMetrics } from '@sluice/runtime';
import { type Exchange, type ExchangeServices, isOneAnswer } from './exchange.ts';
import { closeSpan } from './exchange-span.ts';

/** Counts and logs a request that has ended, unless it was a probe. Call it once. */
export function closeExchange(exchange: Exchange, status: number, services: ExchangeServices): void {
  if (exchange.isProbe) return;
  const { metrics, logger, tracing } = services;
  const at = services.monotonic();
  const durationMs = at - exchange.arrivedAt;
  const outcome = exchange.outcome ?? (status < 400 ? 'ok' : 'cut');
  const { format, model, usage } = exchange;
  metrics.requests.inc({ format, outcome });
  const { detail, refusedBy } = exchange.failure ?? {};
  if (refusedBy !== undefined) metrics.refusals.inc({ limit: refusedBy });
  metrics.requestDuration.observe({ format, outcome }, durationMs);
  if (exchange.byModel) for (const share of exchange.byModel) countTokens(share.model, share, metrics);
  else if (model !== undefined && usage) countTokens(model, usage, metrics);
  const { firstContentAt, lastContentAt } = exchange;
  // What another model had begun came at times of its own.
  const own = exchange.byModel ? exchange.byModel.find((share) => share.model === model) : usage;
  const tokens = isOneAnswer(exchange) ? own?.outputTokens : undefined;
  if (firstContentAt !== undefined && lastContentAt !== undefined && tokens !== undefined && tokens > 1) {
    metrics.timePerOutputToken.observe({ format }, (lastContentAt - firstContentAt) / (tokens - 1));
  }
  closeSpan(exchange, { status, outcome, at }, tracing);
  logger.info(
    {
      requestId: exchange.requestId,
      traceId: exchange.span?.traceId ?? traceIdOf(exchange.facts.headers.traceparent),
      clientRequestId: clientRequestIdOf(exchange.facts.headers['x-client-request-id']),
      format,
      model,
      askedModel: exchange.askedModel,
      tenant: exchange.caller?.tenant,
      keyId: exchange.caller?.keyId,
      stream: exchange.isStream,
      status,
      outcome,
      refusedBy,
      detail,
      durationMs: Math.round(durationMs),
      ttftMs: firstContentAt === undefined ? undefined : Math.round(firstContentAt - exchange.arrivedAt),
      queueWaitMs: exchange.queueWaitMs,
      attempts: exchange.attempts,
      worker: exchange.worker,
      inputTokens: usage?.inputTokens,
      outputTokens: usage?.outputTokens,
      // These are parts of the two counts above that have prices of their own.
      cacheReadTokens: usage?.cacheReadTokens,
      cacheWriteTokens: usage?.cacheWriteTokens,
      reasoningTokens: usage?.reasoningTokens,
      byModel: exchange.byModel,
    },
    'request',
  );
}

function countTokens(
  model: string,
  { inputTokens = 0, outputTokens = 0 }: Usage,
  metrics: IngressMetrics,
): void {
  metrics.tokens.inc({ model, direction: 'input' }, inputTokens);
  metrics.tokens.inc({ model, direction: 'output' }, outputTokens);
}

/** The id that a client gives its call to find it again even if no answer came, as OpenAI's clients may. */
function clientRequestIdOf(header: unknown): string | undefined {
  return typeof header === 'string' && /^[!-~]{1,512}$/.test(header) ? header : undefined;
}
