import {
  type AssistantMessage,
  type AssistantPart,
  extend,
  type InferenceRequest,
  isJsonObject,
  type Json,
  type JsonObject,
  type MediaPart,
  type Message,
  type Opaque,
  type ReasoningPart,
  type TextPart,
  type ToolResultPart,
} from '@sluice/canonical';
import { bareCallId, unpackCall } from '../../calls/call-luggage.ts';
import { MISSING } from '../../json/first-mistake.ts';
import { TextValues } from '../../json/text-values.ts';
import { placed } from '../../places.ts';
import { decodeMedia } from '../media.ts';
import { unsealThinking } from '../thinking/signature.ts';
import { encodeArguments } from '../tool-arguments.ts';
import {
  FORMAT,
  invalid,
  listBlocks,
  messageBody,
  parseWire,
  redactedBlock,
  textBlock,
  thinkingBlock,
  toolResultBlock,
  toolUseBlock,
} from '../wire.ts';
import { endOfCleared, isClearable } from './system-turns.ts';
import { decodeReference } from './tool-references.ts';

/**
 * A coding tool puts a text that differs with every call before its instructions. It is removed, or no cache would ever
 * hit.
 */
const billingHeader = 'x-anthropic-billing-header:';

/** Reads the top-level `system`; empty when there is none. */
export function decodeSystem(system: Json | undefined): Message[] {
  if (system === undefined) return [];
  const blocks = listBlocks(system, 'system');
  const isBilling = ({ block }: { block: JsonObject }) =>
    typeof block.text === 'string' && block.text.startsWith(billingHeader);
  const billing = blocks.findIndex(({ block }) => block.type === 'text');
  const first = blocks[billing];
  if (typeof system !== 'string' && first !== undefined && isBilling(first)) blocks.splice(billing, 1);
  if (blocks.length === 0) return [];
  return [{ role: 'system', content: blocks.map(({ block, path }) => decodeSystemPart(block, path)) }];
}

/** Reads the turns. Tool results become a message of their own, before the rest of their user turn. */
export function decodeMessages(wire: readonly Json[]): Message[] {
  const values = new TextValues();
  const messages: Message[] = [];
  const end = endOfCleared(wire);
  let isConversation = false;
  for (const [index, value] of wire.entries()) {
    const path = `messages[${index}]`;
    const { known, rest } = parseWire(messageBody, value, path);
    const isSetting = known.role === 'system' && isJsonObject(rest.output_config);
    const blocks = listBlocks(known.content ?? (isSetting ? [] : missing(path)), `${path}.content`);
    switch (known.role) {
      case 'system': {
        const content = blocks.map(({ block, path: at }) => decodeSystemPart(block, at));
        // `cleared` is our own name for the content of a turn that the model no longer sees.
        const { cleared: _unknown, ...fields } = rest;
        const isCleared = index < end && isClearable({ ...fields, role: known.role });
        // Only clients of this dialect put a system turn in the middle; the encoder needs to know. See
        // `encodeMessages`.
        const kept = {
          ...fields,
          ...(isConversation && { role: 'system' }),
          ...(isConversation && isCleared && { cleared: blocks.map(({ block }) => block) }),
        };
        const shown = isConversation && isCleared ? [] : content;
        messages.push({ role: 'system', content: shown, ...extend(FORMAT, kept) });
        break;
      }
      case 'assistant':
        messages.push(decodeAssistant(blocks, rest, values));
        isConversation = true;
        break;
      case 'user':
        messages.push(...decodeUser(blocks, rest));
        isConversation = true;
    }
  }
  return messages;
}

function missing(path: string): never {
  throw invalid(`${path}.content`, MISSING);
}

/**
 * A last turn of the assistant asks the model to continue it. A turn of nothing but blank text does not: there is
 * nothing to continue.
 */
export function decodePrefill(messages: readonly Message[], wire: readonly Json[]): Prefill {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return {};
  const says = last.content.some((part) => part.type !== 'text' || /\S/.test(part.text));
  return says ? { prefill: { path: `messages[${wire.length - 1}]` } } : {};
}

type Prefill = Pick<InferenceRequest, 'prefill'>;
type Blocks = readonly { block: JsonObject; path: string }[];

function decodeUser(blocks: Blocks, rest: JsonObject): Message[] {
  const results: ToolResultPart[] = [];
  const content: (TextPart | MediaPart | Opaque)[] = [];
  for (const { block, path } of blocks) {
    if (block.type === 'tool_result') results.push(decodeToolResult(block, path));
    else content.push(decodeUserPart(block, path));
  }
  const tool: Message = { role: 'tool', content: results };
  const user: Message = { role: 'user', content, ...extend(FORMAT, rest) };
  if (results.length === 0) return [user];
  return content.length === 0 ? [{ ...tool, ...extend(FORMAT, rest) }] : [tool, user];
}

function decodeAssistant(blocks: Blocks, rest: JsonObject, values: TextValues): AssistantMessage {
  const content: AssistantPart[] = [];
  for (const { block, path } of blocks) {
    const part = decodeAssistantPart(block, path);
    if (!isEmptyReasoning(part)) content.push(part.type === 'tool-call' ? unpackCall(part, values) : part);
  }
  return { role: 'assistant', content, ...extend(FORMAT, rest) };
}

/** Thinking that was neither shown nor signed carries no information when it comes back. */
function isEmptyReasoning(part: AssistantPart): boolean {
  return part.type === 'reasoning' && part.text === '' && part.extensions === undefined;
}

function decodeSystemPart(block: JsonObject, path: string): TextPart | Opaque {
  return block.type === 'text'
    ? decodeText(block, path)
    : placed({ type: 'opaque', format: FORMAT, value: block }, path);
}

function decodeUserPart(block: JsonObject, path: string): TextPart | MediaPart | Opaque {
  switch (block.type) {
    case 'text':
      return decodeText(block, path);
    case 'image':
    case 'document':
      return placed(decodeMedia(block, path), path);
    default:
      return placed({ type: 'opaque', format: FORMAT, value: block }, path);
  }
}

/** Reads a block of an assistant turn or of an answer. A block of an unknown type stays whole. */
export function decodeAssistantPart(block: JsonObject, path: string): AssistantPart {
  switch (block.type) {
    case 'thinking':
      return decodeReasoning(block, path);
    case 'redacted_thinking': {
      const { known, rest } = parseWire(redactedBlock, block, path);
      return { type: 'reasoning', text: '', ...extend(FORMAT, { data: known.data, ...rest }) };
    }
    case 'tool_use': {
      const { known, rest } = parseWire(toolUseBlock, block, path);
      const { id, name, input } = known;
      const kept = withoutDirectCaller(rest);
      return { type: 'tool-call', id, name, arguments: encodeArguments(input), ...extend(FORMAT, kept) };
    }
    default:
      return decodeUserPart(block, path);
  }
}

/** Removes the `caller` that every call has that the model itself made. */
export function withoutDirectCaller({ caller, ...rest }: JsonObject): JsonObject {
  if (caller === undefined || JSON.stringify(caller) === '{"type":"direct"}') return rest;
  return { caller, ...rest };
}

function decodeReasoning(block: JsonObject, path: string): ReasoningPart {
  const { known, rest } = parseWire(thinkingBlock, block, path);
  const { text, ...signed } = unsealThinking(known.signature ?? '');
  return { type: 'reasoning', text: known.thinking || text, ...extend(FORMAT, { ...signed, ...rest }) };
}

function decodeText(block: JsonObject, path: string): TextPart {
  const { known, rest } = parseWire(textBlock, block, path);
  return { type: 'text', text: known.text, ...extend(FORMAT, withoutEmptyCitations(rest)) };
}

/** Clients repeat the empty list that an answer without citations has. */
function withoutEmptyCitations(rest: JsonObject): JsonObject {
  if (!Array.isArray(rest.citations) || rest.citations.length > 0) return rest;
  const { citations: _, ...others } = rest;
  return others;
}

function decodeToolResult(block: JsonObject, path: string): ToolResultPart {
  const { known, rest } = parseWire(toolResultBlock, block, path);
  const { content = [], is_error: isError } = known;
  return {
    type: 'tool-result',
    toolCallId: bareCallId(known.tool_use_id),
    ...(isError && { isError }),
    content:
      content === ''
        ? []
        : listBlocks(content, `${path}.content`).map(({ block: inner, path: at }) =>
            inner.type === 'tool_reference' ? decodeReference(inner) : decodeUserPart(inner, at),
          ),
    ...extend(FORMAT, rest),
  };
}
