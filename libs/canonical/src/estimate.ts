import { assertNever } from './assert.ts';
import type { Json } from './json.ts';
import { byteLengthOf } from './media/base64-bytes.ts';
import { embeddedFile } from './media/embedded-file.ts';
import { mediaTokens } from './media/media-tokens.ts';
import type { InferenceRequest, MediaPart, Message } from './request.ts';

/** The rule of thumb for text whose tokens nobody has counted, in UTF-16 units. */
export const charactersPerToken = 4;
/** What the frame of a message (role, separators) costs in most chat templates. */
const tokensPerMessage = 4;
/** Servers read such a file as the text that it is, if they take it at all. */
const textType =
  /^(?:text\/|application\/(?:(?:x-)?(?:ndjson|json|yaml|javascript|sh)|xml|sql|[^;]*\+(?:json|xml))(?:;|$))/i;

/**
 * Estimates the tokens of a text: one for every four UTF-16 units, rounded up. It needs no tokenizer, so
 * every process computes the same number at once.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

/**
 * Estimates the prompt tokens of a request before any engine has seen it: the text of messages, tools and schemas by
 * `estimateTokens`, plus 4 for each message, the text of text files, and any other media part by its size.
 * Deterministic; at least 1.
 */
export function estimateInputTokens(request: InferenceRequest): number {
  let tokens = 0;
  for (const message of request.messages) tokens += tokensPerMessage + messageTokens(message);
  for (const tool of request.tools ?? []) tokens += estimateTokens(JSON.stringify(tool));
  if (request.output?.type === 'json' && request.output.schema) {
    tokens += estimateTokens(JSON.stringify(request.output.schema));
  }
  return Math.max(1, tokens);
}

type Part = Message['content'][number];

function messageTokens(message: Message): number {
  let tokens = 0;
  for (const part of message.content) tokens += partTokens(part);
  return tokens;
}

function partTokens(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(part.text);
    case 'tool-call':
      return estimateTokens(part.name) + estimateTokens(part.arguments);
    case 'tool-result': {
      let tokens = 0;
      for (const inner of part.content) tokens += partTokens(inner);
      return tokens;
    }
    case 'media':
      return fileTokens(part);
    case 'opaque':
      return foreignTokens(part.value);
    default:
      return assertNever(part);
  }
}

function fileTokens(part: MediaPart): number {
  const { mediaType, source } = part;
  if (source.type !== 'base64' || !textType.test(mediaType)) return mediaTokens(part);
  return Math.ceil(byteLengthOf(source.data) / charactersPerToken);
}

/** A part that only one format knows is counted as its JSON, but a file in it is no text. */
function foreignTokens(part: Json): number {
  let tokens = 0;
  let letters = 0;
  // A stack of our own: recursion has an end.
  const waiting: Json[] = [part];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    const file = embeddedFile(value);
    if (file) tokens += fileTokens(file);
    else letters += ownLetters(value, waiting);
  }
  return tokens + Math.ceil(letters / charactersPerToken);
}

/** The characters of a value's JSON without those of the values in it, which are added to `waiting`. */
function ownLetters(value: Json, waiting: Json[]): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  const isList = Array.isArray(value);
  let letters = 1;
  for (const [name, inner] of Object.entries(value)) {
    letters += isList ? 1 : name.length + 4;
    waiting.push(inner);
  }
  return letters;
}
