import type { ErrorEvent, GenerationEvent } from '@sluice/canonical';
import { isJsonObject, SluiceError } from '@sluice/canonical';
import { readJson } from '../read-json.ts';

/** One try at a request, by its number from 1 on. */
export interface Attempt {
  requestId: string;
  attempt: number;
}

/** Consecutive events of one attempt. Frames of an attempt are numbered from 0 without gaps. */
export interface Frame extends Attempt {
  sequence: number;
  events: GenerationEvent[];
}

/** The position of an attempt: `next` is the sequence number that its next frame will have. */
export interface Running extends Attempt {
  next: number;
}

/** An answer to a resend order whose frames, from `from` on, are no longer kept. */
export interface Gone extends Attempt {
  from: number;
}

/** The contents of one message on a reply channel. */
export interface ReplyBatch {
  worker: string;
  /** Attempts that the worker has claimed. */
  claims: Attempt[];
  frames: Frame[];
  running: Running[];
  gone: Gone[];
}

type WireEvent = GenerationEvent | [block: number, text: string, tokens: number];

/**
 * The JSON text of one frame. A plain text delta, which is nearly all traffic, travels as `[block, text, tokens]`, with
 * -1 for tokens that the engine has not counted.
 */
export function encodeFrame(frame: Frame): string {
  const events: WireEvent[] = frame.events.map((event) =>
    event.type === 'text-delta' && event.logprobs === undefined
      ? [event.block, event.text, event.tokens ?? -1]
      : event,
  );
  return JSON.stringify([frame.requestId, frame.attempt, frame.sequence, events]);
}

/** The JSON text of a batch. Its frames are already encoded, because they are kept in that form for resends. */
export function encodeBatch(batch: {
  worker: string;
  claims?: readonly Attempt[];
  frames?: readonly string[];
  running?: readonly Running[];
  gone?: readonly Gone[];
}): string {
  let text = `{"v":1,"w":${JSON.stringify(batch.worker)}`;
  if (batch.claims?.length)
    text += `,"c":${JSON.stringify(batch.claims.map(({ requestId, attempt }) => [requestId, attempt]))}`;
  if (batch.frames?.length) text += `,"f":[${batch.frames.join(',')}]`;
  if (batch.running?.length) {
    text += `,"r":${JSON.stringify(batch.running.map(({ requestId, attempt, next }) => [requestId, attempt, next]))}`;
  }
  if (batch.gone?.length)
    text += `,"g":${JSON.stringify(batch.gone.map(({ requestId, attempt, from }) => [requestId, attempt, from]))}`;
  return `${text}}`;
}

/**
 * Reads a batch. A batch of our version is trusted without a schema, which would cost time per token; a property test
 * checks that encoding and decoding fit. Throws `internal` for another version or text that is no batch. A frame with
 * an event that only a newer worker knows ends there, with an error.
 */
export function decodeBatch(text: string): ReplyBatch {
  const wire = readJson(text);
  if (!isJsonObject(wire) || wire.v !== 1)
    throw new SluiceError('internal', 'a reply batch of an unknown version');
  const { w, c, f, r, g } = wire as unknown as WireBatch;
  return {
    worker: w,
    claims: (c ?? []).map(([requestId, attempt]) => ({ requestId, attempt })),
    frames: (f ?? []).map(([requestId, attempt, sequence, events]) => ({
      requestId,
      attempt,
      sequence,
      events: decodeEvents(events),
    })),
    running: (r ?? []).map(([requestId, attempt, next]) => ({ requestId, attempt, next })),
    gone: (g ?? []).map(([requestId, attempt, from]) => ({ requestId, attempt, from })),
  };
}

interface WireBatch {
  w: string;
  c?: [string, number][];
  f?: [string, number, number, WireEvent[]][];
  r?: [string, number, number][];
  g?: [string, number, number][];
}

const knownEvents: Readonly<Record<GenerationEvent['type'], true>> = {
  start: true,
  'text-delta': true,
  'reasoning-delta': true,
  'tool-call-start': true,
  'tool-call-delta': true,
  'tool-call-end': true,
  'block-annotation': true,
  opaque: true,
  finish: true,
  error: true,
};

/** Ends the answer as if the worker had failed there: without the unknown event, the answer would be incomplete. */
const notUnderstood: ErrorEvent = {
  type: 'error',
  error: { kind: 'unavailable', message: 'the worker is of a newer version and says what is not known here' },
};

function decodeEvents(events: readonly WireEvent[]): GenerationEvent[] {
  const decoded: GenerationEvent[] = [];
  for (const event of events) {
    if (Array.isArray(event)) {
      const [block, text, tokens] = event;
      decoded.push(
        tokens === -1 ? { type: 'text-delta', block, text } : { type: 'text-delta', block, text, tokens },
      );
    } else if (Object.hasOwn(knownEvents, event.type)) decoded.push(event);
    else return [...decoded, notUnderstood];
  }
  return decoded;
}
