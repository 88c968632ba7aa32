import { traceIdOf } from '@sluice/canonical';
import type { GenerationRun } from '../../engine.ts';

/**
 * Headers by which a call can be found in the server's records, except those that the settings give. The traceparent is
 * checked here, because other versions of Sluice pass on whatever a client wrote.
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
