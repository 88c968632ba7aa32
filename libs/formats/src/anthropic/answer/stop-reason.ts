import {
  extend,
  extensionsOf,
  type FinishEvent,
  type FinishReason,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { FORMAT } from '../wire.ts';

const stopReason: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  other: 'end_turn',
};

const finishReason: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
};

const bareRefusal: JsonObject = { type: 'refusal', category: null, explanation: null };

/** Why a message ended: `stop_reason` and the two fields that explain it. */
export interface StopFields {
  stop_reason: string;
  stop_sequence: string | null;
  stop_details: Json;
}

/**
 * Says why the answer ended. The word of a server of this dialect is passed on (`rawReason`). Clients of this dialect
 * do not know other dialects' words, so those become the nearest word that they know. A call whose arguments are
 * unreadable or cut off (`hasMangledCall`) must not look like one that asks to be run, whatever the server said.
 */
export function encodeStop(finish: FinishEvent, hasMangledCall = false): StopFields {
  const { stop_reason: own, stop_details: details } = extensionsOf(finish, FORMAT) ?? {};
  const { stopSequence, rawReason } = finish;
  const word = typeof own === 'string' ? own : wordFor(finish, rawReason);
  const stop_reason = hasMangledCall && word === 'tool_use' ? 'end_turn' : word;
  return {
    stop_reason,
    stop_sequence: stop_reason === 'stop_sequence' ? (stopSequence ?? null) : null,
    stop_details: details ?? (stop_reason === 'refusal' ? bareRefusal : null),
  };
}

function wordFor(finish: FinishEvent, rawReason: string | undefined): string {
  if (finish.stopSequence !== undefined && finish.reason === 'stop') return 'stop_sequence';
  return rawReason !== undefined && finishReason[rawReason] === finish.reason
    ? rawReason
    : stopReason[finish.reason];
}

/**
 * The part of a finish event that says why. An unknown reason becomes `other`. One that does not fit the content is
 * corrected, because clients look for calls only if the reason says so, and some rely on finding one then. In both cases
 * the server's word is kept for this format.
 */
export function decodeStop(wire: JsonObject, hasCall: boolean): Omit<FinishEvent, 'type' | 'usage'> {
  const word = typeof wire.stop_reason === 'string' ? wire.stop_reason : undefined;
  const plain = word !== undefined && Object.hasOwn(finishReason, word) ? finishReason[word] : undefined;
  const fitting = word === undefined ? undefined : fittingReason(word, hasCall);
  const reason = fitting ?? plain ?? 'other';
  const hasString = word === 'stop_sequence' && typeof wire.stop_sequence === 'string';
  const kept: JsonObject = {};
  if (word !== undefined && reason !== plain) kept.stop_reason = word;
  const details = wire.stop_details;
  if (isJsonObject(details) && !isBareRefusal(details)) kept.stop_details = details;
  return {
    reason,
    ...(word !== undefined && !hasString && stopReason[reason] !== word && { rawReason: word }),
    ...(hasString && typeof wire.stop_sequence === 'string' && { stopSequence: wire.stop_sequence }),
    ...extend(FORMAT, kept),
  };
}

/** The reason that the content gives; absent if the server's word fits it. */
function fittingReason(word: string, hasCall: boolean): FinishReason | undefined {
  if (word === 'end_turn' && hasCall) return 'tool-calls';
  return word === 'tool_use' && !hasCall ? 'stop' : undefined;
}

function isBareRefusal(details: JsonObject): boolean {
  return Object.values(details).every((value) => value === null || value === 'refusal');
}
