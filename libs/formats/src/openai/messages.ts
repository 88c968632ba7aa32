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
import { decodeCallId, unpackCall } from '../call-luggage.ts';
import { placed } from '../places.ts';
import { decodeContent, decodeTextContent, refusalText } from './parts.ts';
import {
  assistantMessage,
  FORMAT,
  functionCall,
  functionMessage,
  invalid,
  keptFields,
  keptNested,
  parseWire,
  systemMessage,
  toolMessage,
  userMessage,
} from './wire.ts';

type WireMessage = Record<string, unknown> & { role: string };

/**
 * The conversation. Results that follow each other become one tool message, as they are one turn; the
 * deprecated `function_call` and role `function` become calls with ids of their own.
 */
export function decodeMessages(wire: readonly WireMessage[]): Message[] {
  const messages: Message[] = [];
  const legacy = new LegacyCalls();
  for (const [index, message] of wire.entries()) {
    const path = `messages[${index}]`;
    if (message.role === 'tool' || message.role === 'function') {
      const result =
        message.role === 'tool' ? decodeResult(message, path) : legacy.decodeResult(message, path);
      const last = messages[messages.length - 1];
      if (last?.role === 'tool') last.content.push(result);
      else messages.push({ role: 'tool', content: [result] });
    } else messages.push(decodeMessage(message, path, legacy));
  }
  return messages;
}

function decodeMessage(message: WireMessage, path: string, legacy: LegacyCalls): Message {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const { role, content, ...rest } = parseWire(systemMessage, message, path);
      const kept = keptFields(role === 'developer' ? { ...rest, role } : rest);
      return {
        role: 'system',
        content: decodeTextContent(content, `${path}.content`),
        ...extend(FORMAT, kept),
      };
    }
    case 'user': {
      const { role, content, ...rest } = parseWire(userMessage, message, path);
      const parts = decodeContent(content, `${path}.content`);
      return { role: 'user', content: parts, ...extend(FORMAT, keptFields(rest)) };
    }
    case 'assistant':
      return decodeAssistant(message, path, legacy);
    default:
      throw invalid(`${path}.role`, 'expected system, developer, user, assistant, tool or function');
  }
}

/** The wire has one place each for thinking, text and calls, so they come in this order. */
function decodeAssistant(message: WireMessage, path: string, legacy: LegacyCalls): AssistantMessage {
  const { role, content, refusal, tool_calls, function_call, ...others } = parseWire(
    assistantMessage,
    message,
    path,
  );
  const { reasoning, rest } = takeReasoning(others);
  const parts: AssistantPart[] = [];
  if (reasoning !== '') parts.push({ type: 'reasoning', text: reasoning });
  if (content) parts.push(...decodeTextContent(content, `${path}.content`));
  if (refusal) parts.push(refusalText(refusal));
  for (const [index, call] of (tool_calls ?? []).entries()) {
    parts.push(decodeCall(call, `${path}.tool_calls[${index}]`));
  }
  if (function_call) parts.push(legacy.decodeCall(function_call));
  return { role: 'assistant', content: parts, ...extend(FORMAT, keptFields(rest)) };
}

/** Thinking that a client sends back, under either of the names that servers use. */
function takeReasoning(fields: Record<string, unknown>): {
  reasoning: string;
  rest: Record<string, unknown>;
} {
  const { reasoning_content, reasoning, ...rest } = fields;
  if (typeof reasoning_content === 'string') {
    return {
      reasoning: reasoning_content,
      rest: typeof reasoning === 'string' ? rest : { ...rest, reasoning },
    };
  }
  return typeof reasoning === 'string' ? { reasoning, rest } : { reasoning: '', rest: fields };
}

function decodeCall(call: Record<string, unknown>, path: string): AssistantPart {
  if (call.type != null && call.type !== 'function') {
    return placed({ type: 'opaque', format: FORMAT, value: keptFields(call) }, path);
  }
  const { id, type, function: body, ...rest } = parseWire(functionCall, call, path);
  const { name, arguments: args, ...inner } = body;
  return unpackCall({
    type: 'tool-call',
    id,
    name,
    arguments: argumentsText(args),
    ...extend(FORMAT, keptNested(rest, 'function', inner)),
  });
}

/** The JSON text of arguments, which some programs send as the object itself. */
export function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args;
  return isJsonObject(args) || Array.isArray(args) ? JSON.stringify(args) : '';
}

/** True for an opaque that stands among `tool_calls`, as opposed to a content part: it has an id and a typed body. */
export function isCallItem(value: Json): value is JsonObject & { type: string } {
  return (
    isJsonObject(value) &&
    typeof value.id === 'string' &&
    typeof value.type === 'string' &&
    isJsonObject(value[value.type])
  );
}

function decodeResult(message: WireMessage, path: string): ToolResultPart {
  const { role, content, tool_call_id, name, ...rest } = parseWire(toolMessage, message, path);
  return {
    type: 'tool-result',
    toolCallId: decodeCallId(tool_call_id).id,
    ...(name && { toolName: name }),
    content: content ? decodeContent(content, `${path}.content`) : [],
    ...extend(FORMAT, keptFields(rest)),
  };
}

/** Gives ids to the calls of the deprecated form, which knows a call only by its function's name. */
class LegacyCalls {
  private count = 0;
  private readonly unanswered: ToolCallPart[] = [];

  decodeCall(call: { name: string; arguments?: string | null | undefined }): ToolCallPart {
    const part = {
      type: 'tool-call' as const,
      id: this.nextId(),
      name: call.name,
      arguments: call.arguments ?? '',
    };
    this.unanswered.push(part);
    return part;
  }

  decodeResult(message: WireMessage, path: string): ToolResultPart {
    const { role, content, name, ...rest } = parseWire(functionMessage, message, path);
    const index = this.unanswered.findIndex((call) => call.name === name);
    const [call] = index === -1 ? [] : this.unanswered.splice(index, 1);
    return {
      type: 'tool-result',
      toolCallId: call?.id ?? this.nextId(),
      toolName: name,
      content: content ? decodeContent(content, `${path}.content`) : [],
      ...extend(FORMAT, keptFields(rest)),
    };
  }

  private nextId(): string {
    this.count += 1;
    return `call_${this.count - 1}`;
  }
}
