import {
  type AssistantMessage,
  type AssistantPart,
  extend,
  type Message,
  type ReasoningPart,
  type SystemMessage,
  type TextPart,
  type ToolResultPart,
  type UserMessage,
} from '@sluice/canonical';
import { bareCallId, unpackCall } from '../../calls/call-luggage.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { TextValues } from '../../json/text-values.ts';
import { FORMAT, withInner } from '../kept.ts';
import { checkPart, decodePart } from '../parts.ts';
import { invalidField, type WireContent, type WirePart } from '../wire.ts';
import { CallLedger } from './calls.ts';
import { RepeatedResults } from './repeated-results.ts';
import { decodeResult } from './results.ts';

type Role = 'user' | 'model' | 'system';

/** Decodes the conversation. `path` is its place in the client's body. */
export function decodeContents(contents: readonly WireContent[], path: string): Message[] {
  const calls = new CallLedger(writtenIds(contents));
  const values = new TextValues();
  const messages: Message[] = [];
  for (const [index, content] of contents.entries()) {
    const decoded = decodeContent(content, calls, values, `${path}[${index}]`);
    const [last, [first]] = [messages[messages.length - 1], decoded];
    if (last?.role === 'assistant' && first?.role === 'assistant') join(last, first);
    else messages.push(...decoded);
  }
  return messages;
}

/** Decodes `systemInstruction`. Its role, which some clients give as `user`, is ignored. */
export function decodeSystem(wire: WireContent, path: string): SystemMessage {
  const content = systemParts(wire.parts ?? [], path);
  return { role: 'system', content, ...extend(FORMAT, keptBeside(wire, contentFields)) };
}

/** The fields of a content, of a call and of a part that are read by name. */
const contentFields = new Set(['role', 'parts']);
const callFields = new Set(['id', 'name', 'args']);
const partFields = new Set(['functionCall']);

function writtenIds(contents: readonly WireContent[]): ReadonlySet<string> {
  const ids = contents
    .flatMap(({ parts }) => parts ?? [])
    .flatMap(({ functionCall, functionResponse }) => [functionCall?.id, functionResponse?.id]);
  return new Set(ids.filter((id) => id !== undefined).map(bareCallId));
}

function decodeContent(content: WireContent, calls: CallLedger, values: TextValues, path: string): Message[] {
  const { parts = [] } = content;
  for (const [index, part] of parts.entries()) checkPart(part, `${path}.parts[${index}]`);
  const role = roleOf(content, path);
  if (role === 'system') return [decodeSystem(content, path)];
  const kept = extend(FORMAT, keptBeside(content, contentFields));
  if (role === 'model' && !parts.some((part) => part.functionResponse)) {
    return [{ role: 'assistant', content: modelParts(parts, calls, values, path), ...kept }];
  }
  const [first, ...others] = decodeUserTurn(parts, calls, path);
  return [{ ...(first ?? { role: 'user', content: [] }), ...kept }, ...others];
}

function roleOf({ role, parts = [] }: WireContent, path: string): Role {
  switch (role) {
    case undefined:
    case '':
      return parts.some((part) => part.functionCall) ? 'model' : 'user';
    case 'user':
    case 'function':
      return 'user';
    case 'model':
    case 'system':
      return role;
    default:
      throw invalidField(`${path}.role`, 'expected one of user, model, function');
  }
}

function modelParts(
  parts: readonly WirePart[],
  calls: CallLedger,
  values: TextValues,
  path: string,
): AssistantPart[] {
  return parts.map((part, index) => {
    const { functionCall } = part;
    if (!functionCall) return decodePart(part, `${path}.parts[${index}]`);
    const { id = '', name, args } = functionCall;
    const inner = keptBeside(functionCall, callFields);
    const call = unpackCall(
      {
        type: 'tool-call',
        id,
        name,
        arguments: JSON.stringify(args ?? {}),
        ...extend(FORMAT, withInner(keptBeside(part, partFields), 'functionCall', inner)),
      },
      values,
    );
    call.id = calls.open(call.id, name);
    return call;
  });
}

/** Results become messages apart from the rest of a user's turn, in the order of the parts. */
function decodeUserTurn(parts: readonly WirePart[], calls: CallLedger, path: string): Message[] {
  const messages: Message[] = [];
  const repeated = new RepeatedResults(parts, calls);
  for (const [index, part] of parts.entries()) {
    if (repeated.has(index)) continue;
    const place = `${path}.parts[${index}]`;
    if (part.functionCall)
      throw invalidField(`${place}.functionCall`, 'a call must be in a turn of role model');
    const last = messages[messages.length - 1];
    if (part.functionResponse) {
      const result: ToolResultPart = decodeResult(part, calls, place);
      if (last?.role === 'tool') last.content.push(result);
      else messages.push({ role: 'tool', content: [result] });
    } else {
      const decoded = userPart(part, place);
      if (last?.role === 'user') last.content.push(decoded);
      else messages.push({ role: 'user', content: [decoded] });
    }
  }
  return messages;
}

function userPart(part: WirePart, path: string): UserMessage['content'][number] {
  const decoded = decodePart(part, path);
  return decoded.type === 'reasoning' ? { ...decoded, type: 'text' } : decoded;
}

function systemParts(parts: readonly WirePart[], path: string): SystemMessage['content'] {
  return parts.map((part, index) => {
    const place = `${path}.parts[${index}]`;
    const decoded = userPart(part, place);
    if (decoded.type !== 'media') return decoded;
    throw invalidField(place, 'a system instruction holds text only');
  });
}

/**
 * The SDK's chats replay a streamed answer as one turn per chunk. They are joined to one answer: adjacent texts to one
 * text, adjacent thoughts to one thought.
 */
function join(answer: AssistantMessage, more: AssistantMessage): void {
  for (const part of more.content) {
    const last = answer.content[answer.content.length - 1];
    if (!isPlain(part)) answer.content.push(part);
    else if (last?.type === part.type && isPlain(last)) last.text += part.text;
    else if (part.text !== '') answer.content.push(part);
  }
}

/** Whether the part is a text or a thought without fields of its own. */
function isPlain(part: AssistantPart): part is TextPart | ReasoningPart {
  return (part.type === 'text' || part.type === 'reasoning') && part.extensions === undefined;
}

/** The names of the called functions, by the ids of their calls. */
export function callNames(messages: readonly Message[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) if (part.type === 'tool-call') names.set(part.id, part.name);
  }
  return names;
}
