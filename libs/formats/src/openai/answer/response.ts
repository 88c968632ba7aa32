import {
  assertNever,
  extensionsOf,
  type Generation,
  type GenerationEvent,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCallPart,
} from '@sluice/canonical';
import { encodeCallId } from '../../calls/call-luggage.ts';
import type { ClientCall, GenerationContext } from '../../codec.ts';
import { ownFields, ownNested } from '../foreign.ts';
import { isCallItem } from '../request/messages.ts';
import { FORMAT } from '../wire.ts';
import { finishWord } from './finish.ts';
import { finishFields } from './finish-fields.ts';
import { takeSealed } from './reasoning-details.ts';
import { ChatStreamDecoder } from './stream-decode.ts';
import { encodeUsage } from './usage.ts';

/** The single body, with one choice for each generation. */
export function encodeResponse(generations: readonly Generation[], call: ClientCall): Json {
  const [first] = generations;
  const usage = encodeUsage(generations.map((generation) => generation.finish.usage));
  return {
    ...(first && extensionsOf(first, FORMAT)),
    ...(first && finishFields(first.finish).body),
    id: `chatcmpl-${first?.id ?? ''}`,
    object: 'chat.completion',
    created: Math.floor((first?.createdAt ?? 0) / 1000),
    model: call.model,
    choices: generations.map((generation, index) => encodeChoice(generation, index, call)),
    ...(usage && { usage }),
  };
}

function encodeChoice(generation: Generation, index: number, call: ClientCall): Json {
  const { finish } = generation;
  const kept = finishFields(finish);
  const message = encodeMessage(generation, call.wire.legacyFunctions === true);
  const logprobs = [...(generation.logprobs ?? []), ...kept.logprobs];
  const place = message.content === null && message.refusal !== null ? 'refusal' : 'content';
  return {
    ...kept.choice,
    index,
    message: { ...kept.message, ...message },
    logprobs: logprobs.length === 0 ? null : { content: null, refusal: null, [place]: logprobs },
    finish_reason: encodeFinishReason(
      finish.reason,
      message.refusal !== null,
      message.function_call !== undefined,
    ),
  };
}

/** A refusal that is shown as such ends naturally. The deprecated form has a word of its own for its call. */
export function encodeFinishReason(
  reason: Generation['finish']['reason'],
  hasRefusal: boolean,
  isLegacy: boolean,
) {
  if (reason === 'content-filter' && hasRefusal) return 'stop';
  return reason === 'tool-calls' && isLegacy ? 'function_call' : finishWord[reason];
}

function encodeMessage(generation: Generation, isLegacy: boolean): JsonObject {
  let text: string | undefined;
  let refusal: string | undefined;
  let reasoning = '';
  const parts: Json[] = [];
  const calls: JsonObject[] = [];
  for (const part of generation.content) {
    switch (part.type) {
      case 'text':
        if (extensionsOf(part, FORMAT)?.refusal === true) refusal = (refusal ?? '') + part.text;
        else text = (text ?? '') + part.text;
        break;
      case 'reasoning':
        reasoning += part.text;
        break;
      case 'tool-call':
        calls.push(encodeCall(part));
        break;
      case 'opaque':
        if (part.format !== FORMAT) break;
        if (isCallItem(part.value)) calls.push(part.value);
        else parts.push(part.value);
        break;
      case 'media':
        // Events bring no media, so an answer holds none.
        break;
      default:
        assertNever(part);
    }
  }
  const [call] = calls;
  // A part that a server sent in a list of parts can only be returned in such a list.
  const content = parts.length === 0 ? text : [...(text ? [{ type: 'text', text }] : []), ...parts];
  return {
    role: 'assistant',
    content: content ?? (calls.length > 0 || refusal !== undefined ? null : ''),
    refusal: refusal ?? null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(isLegacy && call?.function !== undefined && { function_call: call.function }),
    ...(!isLegacy && calls.length > 0 && { tool_calls: calls }),
  };
}

function encodeCall(call: ToolCallPart): JsonObject {
  const { outer, inner } = ownNested(takeSealed(ownFields(call, [])).rest, 'function');
  // Clients parse the text, and a blank text does not parse.
  const text = call.arguments.trim() === '' ? '{}' : call.arguments;
  const body = { ...inner, name: call.name, arguments: text };
  return { ...outer, id: encodeCallId(call, FORMAT), type: 'function', function: body };
}

/** Decodes a single body as a stream of one chunk. */
export function decodeResponse(body: unknown, context: GenerationContext): GenerationEvent[] {
  const decoder = new ChatStreamDecoder(context);
  const chunk = isJsonObject(body) ? asChunk(body) : body;
  return [...decoder.read(chunk), ...decoder.close()];
}

function asChunk(body: JsonObject): JsonObject {
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) return body;
  const { message, ...rest } = choice;
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  // In a single body, the place in the list is the number, whatever number a server repeats inside.
  const numbered = calls.map((call, index) => (isJsonObject(call) ? { ...call, index } : call));
  const delta = { ...message, ...(calls.length > 0 && { tool_calls: numbered }) };
  return { ...body, choices: [{ ...rest, index: 0, delta }] };
}
