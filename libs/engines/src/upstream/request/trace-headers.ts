import type { GenerationRun } from '../../engine.ts';

/**
 * Headers by which a call can be found in the server's records, except those that the settings give. The two of a trace
 * are one thing: who gives the first, means neither of ours.
 */
export function traceHeaders(
  { callId, trace }: Pick<GenerationRun, 'callId' | 'trace'>,
  isGiven: (name: string) => boolean,
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (callId !== undefined && !isGiven('x-request-id')) headers['x-request-id'] = callId;
  if (trace === undefined || isGiven('traceparent')) return headers;
  headers.traceparent = trace.traceparent;
  if (trace.tracestate !== undefined && !isGiven('tracestate')) headers.tracestate = trace.tracestate;
  return headers;
}
