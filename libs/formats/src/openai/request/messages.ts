import {
  type AssistantMessage,
  type AssistantPart,
  extend,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from '@sluice/canonical';
import { bareCallId, unpackCall } from '../../calls/call-luggage.ts';
import { keptFields } from '../../json/kept-fields.ts';
import { TextValues } from '../../json/text-values.ts';
import { placed } from '../../places.ts';
import {
  anyCall,
  anyMessage,
  assistantMessage,
  FORMAT,
  functionCall,
  functionMessage,
  invalid,
  parseWire,
  readWire,
  systemMessage,
  toolMessage,
  userMessage,
} from '../wire.ts';
import { decodeContent, decodeTextContent, refusalText } from './parts.ts';

/**
 * Decodes the conversation. Adjacent results become one tool message, since they are one turn. The deprecated
 * `function_call` and the role `function` become calls with ids of their own.
 */
export function decodeMessages(wire: readonly unknown[]): Message[] {
  const messages: Message[] = [];
  const values = new TextValues();
  const legacy = new LegacyCalls(values);
  for (const [index, message] of wire.entries()) {
    const path = `messages[${index}]`;
    const { role } = parseWire(anyMessage, message, path);
    if (role === 'tool' || role === 'function') {
      const result = role === 'tool' ? decodeResult(message, path) : legacy.decodeResult(message, path);
      const last = messages[messages.length - 1];
      if (last?.role === 'tool') last.content.push(result);
      else messages.push({ role: 'tool', content: [result] });
    } else messages.push(decodeMessage(role, message, path, legacy, values));
  }
  // A list that grew has room for 17; a copy only for what is in it, for as long as the answer takes.
  return messages.slice();
}

function decodeMessage(
  role: string,
  message: unknown,
  path: string,
  legacy: LegacyCalls,
  values: TextValues,
): Message {
  switch (role) {
    case 'system':
    case 'developer': {
      const { known, kept } = readWire(systemMessage, message, path);
      if (role === 'developer') kept.role = role;
      return {
        role: 'system',
        content: decodeTextContent(known.content, `${path}.content`),
        ...extend(FORMAT, kept),
      };
    }
    case 'user': {
      const { known, kept } = readWire(userMessage, message, path);
      const parts = decodeContent(known.content, `${path}.content`);
      return { role: 'user', content: parts, ...extend(FORMAT, kept) };
    }
    case 'assistant':
      return decodeAssistant(message, path, legacy, values);
    default:
      throw invalid(`${path}.role`, 'expected system, developer, user, assistant, tool or function');
  }
}

/** The wire has one place each for thinking, text and calls, so the parts come in this order. */
function decodeAssistant(
  message: unknown,
  path: string,
  legacy: LegacyCalls,
  values: TextValues,
): AssistantMessage {
  const { known, kept } = readWire(assistantMessage, message, path);
  const { content, refusal, tool_calls, function_call } = known;
  const reasoning = takeReasoning(kept);
  const parts: AssistantPart[] = [];
  if (reasoning !== '') parts.push({ type: 'reasoning', text: reasoning });
  if (content) parts.push(...decodeTextContent(content, `${path}.content`));
  if (refusal) parts.push(refusalText(refusal));
  for (const [index, call] of (tool_calls ?? []).entries()) {
    parts.push(decodeCall(call, `${path}.tool_calls[${index}]`, values));
  }
  if (function_call) parts.push(legacy.decodeCall(function_call));
  return { role: 'assistant', content: parts, ...extend(FORMAT, kept) };
}

/** Removes the returned thinking from a message's fields and returns it. Servers use either of two names for it. */
function takeReasoning(fields: JsonObject): string {
  const said = reasoningNames.map((name) => fields[name]).filter((value) => typeof value === 'string');
  for (const name of reasoningNames) if (typeof fields[name] === 'string') delete fields[name];
  return said[0] ?? '';
}

const reasoningNames = ['reasoning_content', 'reasoning'];

function decodeCall(call: unknown, path: string, values: TextValues): AssistantPart {
  const { type } = parseWire(anyCall, call, path);
  if (type != null && type !== 'function') {
    // Safe to cast: the schema has accepted it as an object.
    return placed({ type: 'opaque', format: FORMAT, value: keptFields(call as JsonObject) }, path);
  }
  const { known, kept } = readWire(functionCall, call, path, 'function');
  const { name, arguments: args } = known.function;
  const part: ToolCallPart = {
    type: 'tool-call',
    id: known.id,
    name,
    arguments: argumentsText(args),
    ...extend(FORMAT, kept),
  };
  values.add(part.arguments);
  return unpackCall(part, values);
}

/** Arguments as JSON text. Some programs send the object itself. */
export function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args;
  return isJsonObject(args) || Array.isArray(args) ? JSON.stringify(args) : '';
}

/** True for an opaque that belongs among `tool_calls`, not among the content parts: it has an id and a typed body. */
export function isCallItem(value: Json): value is JsonObject & { type: string } {
  return (
    isJsonObject(value) &&
    typeof value.id === 'string' &&
    typeof value.type === 'string' &&
    isJsonObject(value[value.type])
  );
}

function decodeResult(message: unknown, path: string): ToolResultPart {
  const { known, kept } = readWire(toolMessage, message, path);
  const { content, tool_call_id, name } = known;
  return {
    type: 'tool-result',
    toolCallId: bareCallId(tool_call_id),
    ...(name && { toolName: name }),
    content: content ? decodeContent(content, `${path}.content`) : [],
    ...extend(FORMAT, kept),
  };
}

/**
 * Gives ids to the calls of the deprecated form, which knows a call by its function's name only. A conversation may
 * hold many thousands, so none is looked at twice.
 */
class LegacyCalls {
  private count = 0;
  private readonly values: TextValues;
  /** For each function, the ids of its calls in order and how many of them have an answer. */
  private readonly byName = new Map<string, { ids: string[]; answered: number }>();

  constructor(values: TextValues) {
    this.values = values;
  }

  decodeCall(call: { name: string; arguments?: string | null | undefined }): ToolCallPart {
    const part = {
      type: 'tool-call' as const,
      id: this.nextId(),
      name: call.name,
      arguments: call.arguments ?? '',
    };
    this.values.add(part.arguments);
    const known = this.byName.get(call.name);
    if (known) known.ids.push(part.id);
    else this.byName.set(call.name, { ids: [part.id], answered: 0 });
    return part;
  }

  decodeResult(message: unknown, path: string): ToolResultPart {
    const { known, kept } = readWire(functionMessage, message, path);
    const { content, name } = known;
    return {
      type: 'tool-result',
      toolCallId: this.firstUnanswered(name) ?? this.nextId(),
      toolName: name,
      content: content ? decodeContent(content, `${path}.content`) : [],
      ...extend(FORMAT, kept),
    };
  }

  private firstUnanswered(name: string): string | undefined {
    const calls = this.byName.get(name);
    const id = calls?.ids[calls.answered];
    if (calls && id !== undefined) calls.answered += 1;
    return id;
  }

  private nextId(): string {
    this.count += 1;
    return `call_${this.count - 1}`;
  }
}
