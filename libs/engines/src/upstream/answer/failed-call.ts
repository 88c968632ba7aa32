import type { GenerationEvent } from '@sluice/canonical';
import { isForeign } from '@sluice/formats';
import type { GenerationRun } from '../../engine.ts';

/** Gemini's words for an answer that it took back because of its call, directly and behind chat completions. */
const failedCalls: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
]);

/**
 * Reports an answer that holds nothing because its server could not read the model's call. Clients of generate content
 * know the server's word, and ask again. To others it would be a whole answer that says nothing, at which an agent
 * stops; they ask again after a failure.
 */
export function withFailedCalls(emit: GenerationRun['emit'], run: GenerationRun): GenerationRun['emit'] {
  if (!isForeign(run, 'gemini') || run.resume !== undefined) return emit;
  let hasSaid = false;
  return (event) => {
    if (!hasSaid && hasFailed(event)) {
      const message = 'the upstream could not read the call that its model made, and gave no answer';
      return emit({ type: 'error', error: { kind: 'upstream-failed', message }, usage: event.usage });
    }
    hasSaid ||= 'block' in event && event.block !== undefined && event.type !== 'reasoning-delta';
    return emit(event);
  };
}

function hasFailed(event: GenerationEvent): event is Extract<GenerationEvent, { type: 'finish' }> {
  return event.type === 'finish' && failedCalls.has(event.rawReason ?? '');
}
