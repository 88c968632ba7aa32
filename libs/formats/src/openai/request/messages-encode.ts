import {
  type AssistantMessage,
  assertNever,
  type FormatId,
  type Json,
  type JsonObject,
  type Message,
  type Opaque,
  type TextPart,
  type ToolResultPart,
} from '@sluice/canonical';
import { mediaLabel } from '../../media/media-label.ts';
import { detailsField, takeSealed } from '../answer/reasoning-details.ts';
import { ownFields, ownNested, ownValue } from '../foreign.ts';
import { invalid } from '../wire.ts';
import { isCallItem } from './messages.ts';
import { encodeContent, encodeMedia } from './parts.ts';

/**
 * The conversation for a server. Results may hold text only, so their images and files follow in a separate user
 * message. That message, and whatever a client of another format says between results (generate content has both in one
 * turn), comes after all results of the step: nothing may stand between a call and its results.
 */
export function encodeMessages(
  messages: readonly Message[],
  isForeign: boolean,
  dropped: FormatId[],
): JsonObject[] {
  const wire: JsonObject[] = [];
  let media: JsonObject[] = [];
  let said: JsonObject[] = [];
  const flush = () => {
    if (media.length > 0) wire.push({ role: 'user', content: media });
    // No spread: there may be more messages than the stack takes as arguments.
    for (const message of said) wire.push(message);
    media = [];
    said = [];
  };
  let hasResults = false;
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (message.role === 'tool') {
      hasResults = isForeign;
      ownFields(message, dropped);
      for (const [position, result] of message.content.entries()) {
        const encoded = encodeResult(result, `${path}.content[${position}]`, dropped);
        wire.push(encoded.message);
        media.push(...encoded.media);
      }
      continue;
    }
    // A client of messages may have a system turn that only sets something, or whose text is no longer shown.
    if (isForeign && message.role === 'system' && message.content.length === 0) {
      ownFields(message, dropped);
      continue;
    }
    if (message.role === 'assistant') hasResults = false;
    const encoded = encodeMessage(message, path, dropped);
    if (hasResults) said.push(encoded);
    else {
      flush();
      wire.push(encoded);
    }
  }
  flush();
  return wire;
}

function encodeMessage(
  message: Exclude<Message, { role: 'tool' }>,
  path: string,
  dropped: FormatId[],
): JsonObject {
  switch (message.role) {
    case 'system':
      return {
        role: 'system',
        ...ownFields(message, dropped),
        content: encodeContent(message.content, `${path}.content`, dropped),
      };
    case 'user':
      return {
        ...ownFields(message, dropped),
        role: 'user',
        content: encodeContent(message.content, `${path}.content`, dropped),
      };
    case 'assistant':
      return encodeAssistant(message, path, dropped);
    default:
      return assertNever(message);
  }
}

function encodeAssistant(message: AssistantMessage, path: string, dropped: FormatId[]): JsonObject {
  let reasoning = '';
  const text: (TextPart | Opaque)[] = [];
  const calls: JsonObject[] = [];
  const thoughts: Json[] = [];
  for (const [index, part] of message.content.entries()) {
    const at = `${path}.content[${index}]`;
    switch (part.type) {
      case 'reasoning':
        ownFields(part, dropped);
        reasoning += part.text;
        break;
      case 'text':
        text.push(part);
        break;
      case 'tool-call': {
        const { rest, sealed } = takeSealed(ownFields(part, dropped));
        const { outer, inner } = ownNested(rest, 'function');
        thoughts.push(...sealed);
        const body = { ...inner, name: part.name, arguments: saidArguments(part.arguments) };
        calls.push({ ...outer, id: part.id, type: 'function', function: body });
        break;
      }
      case 'opaque':
        if (isCallItem(ownValue(part, at))) calls.push(ownValue(part, at));
        else text.push(part);
        break;
      case 'media':
        throw invalid(at, 'media in an assistant message, which chat completions cannot express');
      default:
        assertNever(part);
    }
  }
  return {
    ...(thoughts.length > 0 && { [detailsField]: thoughts }),
    ...ownFields(message, dropped),
    role: 'assistant',
    content: text.length === 0 && calls.length > 0 ? null : encodeContent(text, `${path}.content`, dropped),
    // Two names for the same thing: DeepSeek, SGLang and llama.cpp read the first, vLLM, Groq and Ollama only the
    // second.
    ...(reasoning !== '' && { reasoning_content: reasoning, reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Some servers write `null` for no arguments, and fail when it comes back. */
function saidArguments(text: string): string {
  // Not by an expression with blanks on both sides of the word: on a megabyte of them, it takes a quarter of an hour.
  const word = text.trim();
  return word === '' || word === 'null' ? '{}' : text;
}

/** The dialect has no mark for a failed call, so the text says it: the model must not take an error for a result. */
function encodeResult(result: ToolResultPart, path: string, dropped: FormatId[]) {
  const text: (TextPart | Opaque)[] = [];
  const media: JsonObject[] = [];
  for (const [index, part] of result.content.entries()) {
    const at = `${path}.content[${index}]`;
    if (part.type === 'media') media.push(encodeMedia(part, at, dropped));
    else {
      // Among the texts alone, it would be refused at another place than the client's.
      if (part.type === 'opaque') ownValue(part, at);
      text.push(part);
    }
  }
  const [first] = text;
  if (result.isError && first?.type === 'text') text[0] = { ...first, text: `Error: ${first.text}` };
  else if (result.isError) text.unshift({ type: 'text', text: 'Error' });
  const message: JsonObject = {
    ...ownFields(result, dropped),
    role: 'tool',
    tool_call_id: result.toolCallId,
    ...(result.toolName !== undefined && { name: result.toolName }),
    content: encodeContent(text, `${path}.content`, dropped),
  };
  return { message, media: labelled(media, result.toolCallId) };
}

function labelled(media: JsonObject[], toolCallId: string): JsonObject[] {
  return media.length === 0 ? [] : [{ type: 'text', text: mediaLabel(toolCallId) }, ...media];
}
