import {
  type Extensible,
  extensionsOf,
  type FormatId,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCallPart,
} from '@sluice/canonical';
import { parseObject } from '../json/json-object.ts';
import type { TextValues } from '../json/text-values.ts';
import { isTooDeep } from './argument-depth.ts';

/** A field of a call that a server wants back unchanged with the call. */
interface WantedField {
  /** The field's key in an id. */
  key: string;
  /** The format that knows the field. */
  owner: FormatId;
  name: string;
  isValid(value: unknown): value is Json;
}

const wantedBack: readonly WantedField[] = [
  { key: 'gemini', owner: 'gemini', name: 'thoughtSignature', isValid: (value) => typeof value === 'string' },
  // Gemini models behind chat completions also want theirs back: their signature is in `extra_content` there, and in
  // `reasoning_details` behind routers.
  { key: 'openai', owner: 'openai', name: 'extra_content', isValid: isJsonObject },
  { key: 'sealed', owner: 'openai', name: 'reasoning_details', isValid: (value) => Array.isArray(value) },
];

/** Separates the id that a server gave from what travels with it; made of characters that every dialect allows. */
const marker = '-sluice1-';

interface Call extends Extensible {
  id: string;
}

/**
 * The id of a call for a client of `format`. The id is all that every client returns verbatim. So what the server wants
 * back with the call, and this format has no field for, travels inside the id. `decodeCallId` is the inverse.
 */
export function encodeCallId(call: Call, format: FormatId): string {
  const luggage: JsonObject = {};
  for (const { key, owner, name } of wantedBack) {
    const value = owner === format ? undefined : extensionsOf(call, owner)?.[name];
    if (value !== undefined) luggage[key] = value;
  }
  const isBare = Object.keys(luggage).length === 0 && !call.id.includes(marker);
  return isBare
    ? call.id
    : `${call.id}${marker}${Buffer.from(JSON.stringify(luggage)).toString('base64url')}`;
}

/** The id as the server gave it, without what travels with it. */
export function bareCallId(id: string): string {
  const end = id.lastIndexOf(marker);
  return end <= 0 ? id : id.slice(0, end);
}

/**
 * The id as the server gave it, and what travelled with it. Luggage that a client damaged is dropped, and so is what is
 * nested more deeply than a body may be. Throws what `values` throws.
 */
export function decodeCallId(id: string, values: TextValues): Call {
  const bare = bareCallId(id);
  if (bare === id) return { id };
  const text = Buffer.from(id.slice(bare.length + marker.length), 'base64url').toString();
  values.add(text);
  const read = parseObject(text) ?? {};
  const luggage = isTooDeep(read) ? {} : read;
  const extensions: NonNullable<Extensible['extensions']> = {};
  for (const { key, owner, name, isValid } of wantedBack) {
    const value = luggage[key];
    if (isValid(value)) extensions[owner] = { ...extensions[owner], [name]: value };
  }
  return Object.keys(extensions).length === 0 ? { id: bare } : { id: bare, extensions };
}

/**
 * A returned call as its server made it. Fields that the client sent beside the id win over the luggage. Throws what
 * `values`, which counts those of the whole request, throws.
 */
export function unpackCall(part: ToolCallPart, values: TextValues): ToolCallPart {
  const { id, extensions } = decodeCallId(part.id, values);
  if (id === part.id) return part;
  return { ...part, id, ...(extensions && { extensions: { ...extensions, ...part.extensions } }) };
}
