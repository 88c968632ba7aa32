import { readTraceContext, type Usage } from '@sluice/canonical';
import type { Outcome, TraceSpan, Tracing } from '@sluice/runtime';
import type { InferenceJob } from '@sluice/transport';

/** What is called for an attempt. */
export interface AttemptCall {
  pool: string;
  backendModel: string;
  /** Monotonic milliseconds. */
  startedAt: number;
}

/** Begins the span of one attempt, under that of its request. Absent without tracing. */
export function openAttemptSpan(
  job: InferenceJob,
  { backendModel, startedAt }: AttemptCall,
  tracing: Tracing | undefined,
): TraceSpan | undefined {
  return tracing?.startSpan({
    name: `chat ${backendModel}`,
    kind: 'client',
    startedAt,
    parent: readTraceContext(job),
  });
}

/** How an attempt has ended. */
export interface AttemptEnd {
  outcome: Outcome;
  usage: Usage | undefined;
  /** Monotonic milliseconds; absent if there was none. */
  firstContentAt: number | undefined;
  /** Monotonic milliseconds. */
  at: number;
}

/** Ends the span of an attempt. */
export function closeAttemptSpan(
  span: TraceSpan,
  { requestId, attempt, tenant }: InferenceJob,
  { pool, backendModel }: AttemptCall,
  { outcome, usage, firstContentAt, at }: AttemptEnd,
): void {
  if (firstContentAt !== undefined) span.addEvent('first token', firstContentAt);
  const hasFailed = outcome !== 'ok' && outcome !== 'cancelled';
  span.end({
    at,
    ...(hasFailed && { error: outcome }),
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': backendModel,
      'gen_ai.usage.input_tokens': usage?.inputTokens,
      'gen_ai.usage.output_tokens': usage?.outputTokens,
      'error.type': outcome === 'ok' ? undefined : outcome,
      'sluice.request_id': requestId,
      'sluice.attempt': attempt,
      'sluice.tenant': tenant,
      'sluice.pool': pool,
    },
  });
}
