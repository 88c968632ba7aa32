import { traceIdOf } from '@sluice/canonical';
import type { GenerationRun } from '../engine.ts';

/**
 * What a server is told so that a call is found in its records, but for headers that the settings give. The traceparent
 * is looked at here: other versions hand on what a client wrote.
 */
export function traceHeaders(
  { callId, traceparent }: Pick<GenerationRun, 'callId' | 'traceparent'>,
  isGiven: (name: string) => boolean,
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (callId !== undefined && !isGiven('x-request-id')) headers['x-request-id'] = callId;
  const isTrace = traceparent !== undefined && traceIdOf(traceparent) !== undefined;
  if (isTrace && !isGiven('traceparent')) headers.traceparent = traceparent;
  return headers;
}
