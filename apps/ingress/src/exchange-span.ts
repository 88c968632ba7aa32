import { readTraceContext } from '@sluice/canonical';
import type { Outcome, TraceSpan, Tracing } from '@sluice/runtime';
import { codecOf } from './answers/reply.ts';
import type { Exchange } from './exchange.ts';

/** Begins the span of a call of a model, as of its arrival. Does nothing without tracing. */
export function openSpan(exchange: Exchange, tracing: Tracing | undefined): void {
  if (tracing)
    exchange.span = spanOf(exchange, `${codecOf(exchange).operationName} ${exchange.model}`, tracing);
}

/** How a request has ended. */
export interface ExchangeEnd {
  status: number;
  outcome: Outcome;
  /** Monotonic milliseconds. */
  at: number;
}

/**
 * Ends the span of a request, with the facts of its log line. A request that has begun none, because it was refused or
 * calls no model, gets it now.
 */
export function closeSpan(exchange: Exchange, end: ExchangeEnd, tracing: Tracing | undefined): void {
  if (!tracing) return;
  const isCall = exchange.span !== undefined;
  exchange.span ??= spanOf(exchange, 'request', tracing);
  const { span, queueWaitMs, claimedAt, firstContentAt, usage } = exchange;
  const { status, outcome, at } = end;
  if (claimedAt !== undefined && queueWaitMs !== undefined)
    span.addPart('queue', claimedAt - queueWaitMs, claimedAt);
  if (firstContentAt !== undefined) span.addEvent('first token', firstContentAt);
  span.end({
    at,
    ...(isOurs(end) && { error: outcome }),
    attributes: {
      'gen_ai.operation.name': isCall ? codecOf(exchange).operationName : undefined,
      'gen_ai.request.model': exchange.askedModel ?? exchange.model,
      'gen_ai.response.model': exchange.askedModel === undefined ? undefined : exchange.model,
      'gen_ai.usage.input_tokens': usage?.inputTokens,
      'gen_ai.usage.output_tokens': usage?.outputTokens,
      'http.response.status_code': status,
      'error.type': outcome === 'ok' ? undefined : outcome,
      'sluice.request_id': exchange.requestId,
      'sluice.format': exchange.format,
      'sluice.stream': exchange.isStream,
      'sluice.tenant': exchange.caller?.tenant,
      'sluice.key_id': exchange.caller?.keyId,
      'sluice.refused_by': exchange.failure?.refusedBy,
      'sluice.detail': exchange.failure?.detail,
      'sluice.attempts': exchange.attempts,
      'sluice.worker': exchange.worker,
    },
  });
}

function spanOf({ arrivedAt: startedAt, facts }: Exchange, name: string, tracing: Tracing): TraceSpan {
  return tracing.startSpan({ name, kind: 'server', startedAt, parent: readTraceContext(facts.headers) });
}

/** Whether it failed by us or a model server. The span of a server tells no client's mistake as an error. */
function isOurs({ status, outcome }: ExchangeEnd): boolean {
  const isCut = status < 400 && outcome !== 'ok' && outcome !== 'cancelled' && outcome !== 'cut';
  return status >= 500 || isCut;
}
