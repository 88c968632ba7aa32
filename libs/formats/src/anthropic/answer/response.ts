import {
  type AssistantPart,
  assertNever,
  extend,
  extensionsOf,
  type FinishEvent,
  type Generation,
  type GenerationEvent,
  isJsonObject,
  type Json,
  type JsonObject,
  promptUsage,
  type ReasoningDelta,
  SluiceError,
  type StartEvent,
  type TextDelta,
  type ToolCallPart,
} from '@sluice/canonical';
import { parseArguments } from '../../calls/call-arguments.ts';
import { encodeCallId } from '../../calls/call-luggage.ts';
import type { ClientCall, GenerationContext } from '../../codec.ts';
import { unreadable } from '../../failures/unreadable.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { decodeInBandError } from '../error.ts';
import { decodeAssistantPart } from '../request/messages-decode.ts';
import { sealThinking, signThinking } from '../thinking/signature.ts';
import { argumentsOf } from '../tool-arguments.ts';
import { FORMAT } from '../wire.ts';
import { decodeStop, encodeStop } from './stop-reason.ts';
import { decodeUsage, encodeUsage } from './usage.ts';

/** The fields that a single body and the start of a stream have in common. */
export interface MessageHead {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
}

/** The head of the answer to a call; the id is the generation's with this dialect's prefix. */
export function encodeHead(id: string, call: ClientCall): MessageHead {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model: call.model };
}

/** Which edits of the context were applied: never any here. Only beta clients get the field. */
export function encodeContextManagement(call: ClientCall): { context_management?: Json } {
  if (call.wire.contextManagement === true) return { context_management: { applied_edits: [] } };
  return call.wire.beta === true ? { context_management: null } : {};
}

/** The whole message. This dialect has exactly one choice. */
export function encodeResponse(generations: readonly Generation[], call: ClientCall): Json {
  const [generation] = generations;
  if (generation === undefined) throw new SluiceError('internal', 'there is no generation to encode');
  const { finish } = generation;
  const { stop_reason: _word, ...late } = extensionsOf(finish, FORMAT) ?? {};
  const hasMangledCall = generation.content.some((part) => {
    if (part.type !== 'tool-call') return false;
    const { isReadable, isCut } = parseArguments(part.arguments);
    return !isReadable || isCut;
  });
  return {
    ...encodeHead(generation.id, call),
    content: generation.content.flatMap((part) => encodeBlock(part, call)),
    ...encodeStop(finish, hasMangledCall),
    container: null,
    diagnostics: null,
    ...encodeContextManagement(call),
    usage: encodeUsage(finish.usage),
    ...extensionsOf(generation, FORMAT),
    ...late,
  };
}

/** Nothing is written for empty blocks, for parts of other dialects and for media, which has no block in an answer. */
function encodeBlock(part: AssistantPart, call: ClientCall): JsonObject[] {
  switch (part.type) {
    case 'text': {
      const own = extensionsOf(part, FORMAT);
      if (part.text === '' && own === undefined) return [];
      // The vendor's types promise a list or null, and AI SDK 5 and 6 read a list or nothing.
      return [{ type: 'text', text: part.text, citations: [], ...own }];
    }
    case 'reasoning': {
      const own = extensionsOf(part, FORMAT);
      if (own?.data !== undefined) return [{ type: 'redacted_thinking', ...own }];
      if (part.text === '' && own === undefined) return [];
      const { signature: server, ...beside } = own ?? {};
      const signature = typeof server === 'string' ? server : undefined;
      const said =
        call.wire.hidesThinking === true
          ? { thinking: '', signature: sealThinking(part.text, signature) }
          : { thinking: part.text, signature: signature ?? signThinking(part.text.length) };
      return [{ type: 'thinking', ...said, ...beside }];
    }
    case 'tool-call':
      return [
        {
          ...encodeToolUse(part),
          input: parseArguments(part.arguments).input,
        },
      ];
    case 'opaque':
      return part.format === FORMAT && isJsonObject(part.value) ? [part.value] : [];
    case 'media':
      return [];
    default:
      return assertNever(part);
  }
}

/** A call's block with an empty `input`. */
export function encodeToolUse(call: Pick<ToolCallPart, 'id' | 'name' | 'extensions'>): JsonObject {
  const id = encodeCallId(call, FORMAT);
  const own = extensionsOf(call, FORMAT);
  return { type: 'tool_use', id, caller: { type: 'direct' }, name: call.name, input: {}, ...own };
}

const stopFields = new Set(['stop_reason', 'stop_sequence', 'stop_details']);
/** Fields that a stream sends at its end. */
const endFields = new Set([...stopFields, 'container', 'context_management']);
/** The fields that are read by name, or not at the start. */
const messageFields = new Set(['id', 'type', 'role', 'model', 'content', 'usage', ...endFields]);

/** The start event of a message that a server began. Our id and model name replace the server's. */
export function decodeStart(message: JsonObject, context: GenerationContext): StartEvent {
  const usage = isJsonObject(message.usage) ? decodeUsage(message.usage) : {};
  const kept = keptBeside(message, messageFields);
  return {
    type: 'start',
    id: context.id,
    model: context.model,
    createdAt: context.createdAt,
    ...promptUsage(usage),
    ...extend(FORMAT, kept),
  };
}

/** The finish event, from the fields that explain the end, the late fields and the complete usage. */
export function decodeFinish(end: JsonObject, usage: JsonObject, hasCall: boolean): FinishEvent {
  const { extensions, ...stop } = decodeStop(end, hasCall);
  const late = keptBeside(end, stopFields);
  const management = late.context_management;
  if (isJsonObject(management) && JSON.stringify(management) === '{"applied_edits":[]}') {
    delete late.context_management;
  }
  const kept = { ...late, ...extensions?.[FORMAT] };
  return { type: 'finish', ...stop, ...extend(FORMAT, kept), usage: decodeUsage(usage) };
}

/** A single body as the events of a stream. A body that is no message becomes an `upstream-failed` error event. */
export function decodeResponse(body: unknown, context: GenerationContext): GenerationEvent[] {
  if (!isJsonObject(body) || !Array.isArray(body.content)) {
    const error = isJsonObject(body) ? decodeInBandError(body) : undefined;
    return [{ type: 'error', error: error ?? unreadable('noAnswer') }];
  }
  const events: GenerationEvent[] = [decodeStart(body, context)];
  let number = 0;
  let hasCall = false;
  for (const block of body.content) {
    if (!isJsonObject(block)) continue;
    const decoded = decodeBlock(block, number);
    const isCall = decoded[0]?.type === 'tool-call-start';
    if (isCall && hasCall && context.isSingleCall) continue;
    hasCall ||= isCall;
    events.push(...decoded);
    if (decoded.length > 0) number += 1;
  }
  const end: JsonObject = {};
  for (const name of endFields) end[name] = body[name] ?? null;
  events.push(decodeFinish(end, isJsonObject(body.usage) ? body.usage : {}, hasCall));
  return events;
}

/** A whole block of an answer as events; none for an empty block. */
export function decodeBlock(wire: JsonObject, block: number): GenerationEvent[] {
  const part = readBlock(wire);
  switch (part.type) {
    case 'text':
      return part.text === '' && part.extensions === undefined
        ? []
        : annotated({ type: 'text-delta', block, text: part.text }, part.extensions?.[FORMAT]);
    case 'reasoning':
      return part.text === '' && part.extensions === undefined
        ? []
        : annotated({ type: 'reasoning-delta', block, text: part.text }, part.extensions?.[FORMAT]);
    case 'tool-call':
      return [
        {
          type: 'tool-call-start',
          block,
          id: part.id,
          name: part.name,
          ...(part.extensions && { extensions: part.extensions }),
        },
        { type: 'tool-call-delta', block, arguments: part.arguments },
        { type: 'tool-call-end', block },
      ];
    case 'opaque':
    case 'media':
      return [{ type: 'opaque', format: FORMAT, value: wire, block }];
    default:
      return assertNever(part);
  }
}

/**
 * The text of a block and its own fields, in the order of a stream: signatures and citations follow the text; any other
 * field belongs to the start of the block and must be known before the text.
 */
function annotated(delta: TextDelta | ReasoningDelta, own: JsonObject = {}): GenerationEvent[] {
  const { signature, citations, ...early } = own;
  const late = {
    ...(signature !== undefined && { signature }),
    ...(citations !== undefined && { citations }),
  };
  const note = (fields: JsonObject): GenerationEvent[] =>
    Object.keys(fields).length === 0
      ? []
      : [{ type: 'block-annotation', block: delta.block, extensions: { [FORMAT]: fields } }];
  const begun = Object.keys(early).length === 0 ? [] : [{ ...delta, text: '' }, ...note(early)];
  const said = delta.text === '' && begun.length > 0 ? [] : [delta];
  return [...begun, ...said, ...note(late)];
}

/** A server's mistake in one block must not cost the whole answer: the block is passed on as it is. */
function readBlock(wire: JsonObject): AssistantPart {
  try {
    if (wire.type !== 'tool_use' || typeof wire.input !== 'string')
      return decodeAssistantPart(wire, 'content');
    const part = decodeAssistantPart({ ...wire, input: {} }, 'content');
    return part.type === 'tool-call' ? { ...part, arguments: argumentsOf(wire.input) } : part;
  } catch {
    return { type: 'opaque', format: FORMAT, value: wire };
  }
}
