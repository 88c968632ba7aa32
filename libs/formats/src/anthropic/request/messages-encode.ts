import {
  type AssistantMessage,
  type AssistantPart,
  assertNever,
  isJsonObject,
  type JsonObject,
  type MediaPart,
  type Message,
  type Opaque,
  type SystemMessage,
  type TextPart,
  type ToolMessage,
  type ToolResultPart,
  type UserMessage,
} from '@sluice/canonical';
import { parseArguments } from '../../calls/call-arguments.ts';
import { mediaLabel } from '../../media/media-label.ts';
import { type Encoding, ownFields, ownValue } from '../encoding.ts';
import { encodeMedia } from '../media.ts';
import { isForeignSignature } from '../thinking/foreign-thinking.ts';
import { unsigned } from '../thinking/thinking-block.ts';
import { FORMAT, invalid } from '../wire.ts';
import { isClaude } from './claude-models.ts';
import { isReference } from './tool-references.ts';

/** The conversation for a server of this dialect: `system` and the turns. */
export interface EncodedMessages {
  system: JsonObject[];
  messages: JsonObject[];
}

interface Placed<Kind extends Message = Message> {
  message: Kind;
  path: string;
}

/**
 * Leading system messages become `system`. A later one keeps its place and role if a client of this dialect put it
 * there. From any other dialect, it becomes a user text in the same place: many servers do not know system turns, and
 * moving it to the top would change the context of every later turn. Turns that end up empty are left out, because
 * servers refuse them.
 */
export function encodeMessages(messages: readonly Message[], encoding: Encoding): EncodedMessages {
  const encoded: EncodedMessages = { system: [], messages: [] };
  let userSide: Placed<UserMessage | ToolMessage | SystemMessage>[] = [];
  const flush = () => {
    // No spread: there may be more messages than the stack takes as arguments.
    for (const message of encodeUserSide(userSide, encoding)) encoded.messages.push(message);
    userSide = [];
  };
  // There has to be a turn, so a prompt of nothing but instructions is said by the user.
  let isLeading = messages.some(({ role }) => role !== 'system');
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (message.role === 'system' && isLeading) {
      ownFields(message, encoding);
      for (const block of encodeParts(message.content, path, encoding)) encoded.system.push(block);
      continue;
    }
    isLeading = false;
    if (message.role === 'assistant') {
      flush();
      encoded.messages.push(...encodeAssistant({ message, path }, encoding));
    } else if (message.role === 'system' && message.extensions?.[FORMAT]?.role === 'system') {
      flush();
      const { cleared, ...own } = ownFields(message, encoding);
      const content = Array.isArray(cleared)
        ? cleared.filter(isJsonObject)
        : encodeParts(message.content, path, encoding);
      const isSaid = content.length > 0 || isJsonObject(own.output_config);
      if (isSaid) encoded.messages.push({ role: 'system', content: compact(content), ...own });
    } else userSide.push({ message, path });
  }
  flush();
  return encoded;
}

/**
 * Encodes everything between two assistant turns. Servers want the results of all calls first, in one user turn. If
 * there are no results, user turns stay separate as they came.
 */
function encodeUserSide(
  group: readonly Placed<UserMessage | ToolMessage | SystemMessage>[],
  encoding: Encoding,
): JsonObject[] {
  const results: JsonObject[] = [];
  const turns: { content: JsonObject[]; own: JsonObject }[] = [];
  for (const { message, path } of group) {
    const own = ownFields(message, encoding);
    if (message.role === 'tool') {
      for (const [index, part] of message.content.entries()) {
        const { result, media } = encodeToolResult(part, `${path}.content[${index}]`, encoding);
        results.push(result);
        turns.push({ content: media, own: {} });
      }
      turns.push({ content: [], own });
    } else turns.push({ content: encodeParts(message.content, path, encoding), own });
  }
  if (results.length === 0) return turns.flatMap(({ content, own }) => turn('user', content, own));
  const content = [...results, ...turns.flatMap((part) => part.content)];
  return turn('user', content, Object.assign({}, ...turns.map(({ own }) => own)));
}

function encodeAssistant({ message, path }: Placed<AssistantMessage>, encoding: Encoding): JsonObject[] {
  const content = message.content.flatMap((part, index) =>
    encodeAssistantPart(part, `${path}.content[${index}]`, encoding),
  );
  return turn('assistant', content, ownFields(message, encoding));
}

function turn(role: string, content: JsonObject[], own: JsonObject): JsonObject[] {
  return content.length === 0 ? [] : [{ role, content: compact(content), ...own }];
}

/** A single plain text is written as a string. */
function compact(content: JsonObject[]): JsonObject[] | string {
  const [only] = content;
  const isPlain = content.length === 1 && only?.type === 'text' && Object.keys(only).length === 2;
  return isPlain && typeof only.text === 'string' ? only.text : content;
}

function encodeParts(
  parts: readonly (TextPart | MediaPart | Opaque)[],
  path: string,
  encoding: Encoding,
): JsonObject[] {
  return parts.flatMap((part, index) => encodePart(part, `${path}.content[${index}]`, encoding));
}

function encodePart(part: TextPart | MediaPart | Opaque, path: string, encoding: Encoding): JsonObject[] {
  switch (part.type) {
    case 'text': {
      const own = ownFields(part, encoding);
      if (isReference(own)) return [own];
      // Servers refuse blocks without a visible character.
      return /\S/.test(part.text) ? [{ type: 'text', text: part.text, ...own }] : [];
    }
    case 'media':
      return [encodeMedia(part, path, encoding)];
    case 'opaque':
      return [ownValue(part, path)];
    default:
      return assertNever(part);
  }
}

function encodeAssistantPart(part: AssistantPart, path: string, encoding: Encoding): JsonObject[] {
  switch (part.type) {
    case 'reasoning': {
      const own = ownFields(part, encoding);
      if (own.data !== undefined) return [{ type: 'redacted_thinking', ...own }];
      if (own.signature !== undefined) {
        const isRefused = isClaude(encoding.model) && isForeignSignature(own.signature);
        return isRefused ? [] : [{ type: 'thinking', thinking: part.text, ...own }];
      }
      // Claude accepts only thinking that it signed. Other models sign nothing, and some refuse a call without the
      // thinking that led to it.
      const isTaken = !isClaude(encoding.model) && /\S/.test(part.text);
      return isTaken ? [{ ...unsigned(part.text), ...own }] : [];
    }
    case 'tool-call': {
      const { input } = parseArguments(part.arguments);
      const own = ownFields(part, encoding);
      return [{ type: 'tool_use', id: encoding.ids.ofCall(part.id), name: part.name, input, ...own }];
    }
    case 'media':
      throw invalid(path, "this model's server accepts no media in an assistant turn");
    default:
      return encodePart(part, path, encoding);
  }
}

/** Claude takes nothing but text in a failed result. A client of generate content may add media, which follow then. */
function encodeToolResult(part: ToolResultPart, path: string, encoding: Encoding) {
  const encoded = encodeParts(part.content, path, encoding);
  const isFailure = part.isError === true && encoding.isForeign;
  const content = isFailure ? encoded.filter(({ type }) => type === 'text') : encoded;
  const media = isFailure ? encoded.filter(({ type }) => type !== 'text') : [];
  const id = encoding.ids.ofResult(part.toolCallId);
  const isSilentFailure = isFailure && content.length === 0;
  const result: JsonObject = {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 && { content: compact(content) }),
    // Servers refuse a failure that says nothing, as clients of generate content tell that of a silent command.
    ...(isSilentFailure && { content: 'Error' }),
    ...(part.isError && { is_error: true }),
    ...ownFields(part, encoding),
  };
  const label = { type: 'text', text: mediaLabel(id) };
  return { result, media: media.length === 0 ? [] : [label, ...media] };
}
