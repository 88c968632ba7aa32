import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { unsignedCall } from '../../calls/unsigned-call.ts';
import { objectOf } from '../../json/json-object.ts';
import { mediaLabel } from '../../media/media-label.ts';
import { detailsField } from '../answer/reasoning-details.ts';
import { eachMessage } from './message-words.ts';
import { saysUnknown } from './setting-words.ts';

/** The ids of calls that a server takes, whose refusal says so. A shortened one has `length` characters. */
interface IdRule {
  readonly isSaid: RegExp;
  readonly takes: RegExp;
  readonly length: number;
}

const idRules: readonly IdRule[] = [
  // Mistral's tokenizers, and the templates of its models.
  { isSaid: /tool call ids?\b.*\blength (?:of )?9\b/i, takes: /^[a-zA-Z0-9]{9}$/, length: 9 },
  // OpenAI. vLLM gives longer ones.
  {
    isSaid: /\btool_call(?:_id|s\[\d+\]\.id)\b.{0,80}\bmaximum length 40\b/i,
    takes: /^.{0,40}$/s,
    length: 40,
  },
];

/** With ids of calls as the server accepts them, whoever gave the ids. The mapping is deterministic. */
export function withKnownIds(body: JsonObject, refusal: string): JsonObject | undefined {
  const rule = idRules.find(({ isSaid }) => isSaid.test(refusal));
  if (!rule) return undefined;
  const labels = new Map<Json | undefined, string>();
  const withKnown = (field: string) => (thing: JsonObject) => {
    const id = thing[field];
    if (typeof id !== 'string' || rule.takes.test(id)) return undefined;
    const known = hashed(id, rule.length);
    labels.set(mediaLabel(id), mediaLabel(known));
    return { ...thing, [field]: known };
  };
  const called = eachCall(body, withKnown('id'));
  const answered = eachMessage(called ?? body, withKnown('tool_call_id')) ?? called;
  return answered && (withLabels(answered, labels) ?? answered);
}

/** With the images and files of results under the new ids of their calls. */
function withLabels(body: JsonObject, labels: ReadonlyMap<Json | undefined, string>): JsonObject | undefined {
  return eachMessage(body, ({ content, ...message }) => {
    if (message.role !== 'user' || !Array.isArray(content)) return undefined;
    const said = content.map((part) => {
      const label = isJsonObject(part) ? labels.get(part.text) : undefined;
      return label === undefined ? part : { ...objectOf(part), text: label };
    });
    return said.some((part, index) => part !== content[index]) ? { ...message, content: said } : undefined;
  });
}

function hashed(id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length);
}

/** Where servers of Gemini put what they want back with a call; other servers refuse a field that they do not know. */
const signatureFields = ['extra_content', detailsField];

/** Without the signatures of another server, as a conversation has them that was begun there. */
export function withoutSignatures(body: JsonObject, refusal: string): JsonObject | undefined {
  const name = signatureFields.find((field) => refusal.includes(field));
  if (name === undefined || !saysUnknown(refusal)) return undefined;
  const bare = (thing: JsonObject) => {
    const { [name]: signature, ...rest } = thing;
    return signature === undefined ? undefined : rest;
  };
  const unsigned = eachCall(body, bare);
  return eachMessage(unsigned ?? body, bare) ?? unsigned;
}

const missesSignature = /\bmissing an? thought_signature\b/i;

/** With the calls signed that another model made, or that lost their signature: Gemini refuses a step without any. */
export function withSignatures(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!missesSignature.test(refusal)) return undefined;
  return eachCall(body, (call, index) => {
    const { google, ...others } = objectOf(call.extra_content);
    const isSigned = index > 0 || objectOf(google).thought_signature !== undefined;
    if (isSigned) return undefined;
    const signed = { ...objectOf(google), thought_signature: unsignedCall };
    return { ...call, extra_content: { ...others, google: signed } };
  });
}

/** How Gemini and Claude refuse, behind chat completions, what another model or server signed. */
const refusesSignature = /\b(?:corrupted|invalid) thought[ _]signature\b|\binvalid `?signature`? in\b/i;

/**
 * The body without the thoughts that another server sealed, and with Google's own signature in place of others; or, if
 * it has no more than that, without any. Absent if the refusal is about something else.
 */
export function withoutForeignSignatures(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!refusesSignature.test(refusal)) return undefined;
  const opened = eachMessage(body, ({ [detailsField]: details, ...message }) =>
    details === undefined ? undefined : message,
  );
  const resigned = eachCall(opened ?? body, ({ extra_content: extra, ...call }) => {
    const signature = objectOf(objectOf(extra).google).thought_signature;
    if (signature === undefined || signature === unsignedCall) return undefined;
    return { ...call, extra_content: { google: { thought_signature: unsignedCall } } };
  });
  const said = resigned ?? opened;
  return (
    said ?? eachCall(body, ({ extra_content: extra, ...call }) => (extra === undefined ? undefined : call))
  );
}

/** Replaces each call by what `say` returns for it and its place among its message's; it stays if that is nothing. */
function eachCall(
  body: JsonObject,
  say: (call: JsonObject, index: number) => JsonObject | undefined,
): JsonObject | undefined {
  return eachMessage(body, (message) => {
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
    const said = calls.map((call, index) => (isJsonObject(call) ? (say(call, index) ?? call) : call));
    return said.some((call, index) => call !== calls[index]) ? { ...message, tool_calls: said } : undefined;
  });
}
