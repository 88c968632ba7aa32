import { type GenerationEvent, type InferenceRequest, isTerminal } from '@sluice/canonical';
import { expect } from 'vitest';
import type { Engine, GenerationRun } from './engine.ts';

/** A request whose only message is this text. */
export function askFor(text: string, rest: Partial<InferenceRequest> = {}): InferenceRequest {
  return {
    model: 'sim',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    sampling: {},
    ...rest,
  };
}

/** One run of an engine and everything that it emitted. */
export interface Recording {
  events: GenerationEvent[];
  controller: AbortController;
  done: Promise<void>;
}

/** Starts a run. After each event, `onEvent` sees what was emitted so far, and may abort the run by the controller. */
export function record(
  engine: Engine,
  request: InferenceRequest,
  {
    onEvent,
    ...options
  }: Partial<GenerationRun> & {
    onEvent?: (events: readonly GenerationEvent[], controller: AbortController) => void;
  } = {},
): Recording {
  const controller = new AbortController();
  const events: GenerationEvent[] = [];
  const emit = (event: GenerationEvent) => {
    events.push(event);
    onEvent?.(events, controller);
  };
  const done = engine.generate(request, {
    id: 'run1',
    backendModel: 'sim',
    signal: controller.signal,
    emit,
    ...options,
  });
  return { events, controller, done };
}

/** All events of a run that nobody aborts. */
export async function runOf(
  engine: Engine,
  request: InferenceRequest,
  options: Partial<GenerationRun> = {},
): Promise<GenerationEvent[]> {
  const { events, done } = record(engine, request, options);
  await done;
  return events;
}

/** The text of all text deltas. */
export function textOf(events: readonly GenerationEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

/** Runs another generation to its end, so that the aborted one had every chance to speak. */
export async function expectSilence(
  engine: Engine,
  events: readonly GenerationEvent[],
  next: InferenceRequest,
): Promise<void> {
  const seen = events.length;
  await runOf(engine, next);
  expect(events).toHaveLength(seen);
  expect(events.some(isTerminal)).toBe(false);
}
