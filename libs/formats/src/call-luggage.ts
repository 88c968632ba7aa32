import {
  type Extensible,
  extensionsOf,
  type FormatId,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCallPart,
} from '@sluice/canonical';

/** A field of a call that a server wants back with the call as it was. */
interface WantedField {
  /** What it is called in an id. */
  key: string;
  /** The format that knows the field. */
  owner: FormatId;
  name: string;
  isValid(value: unknown): value is Json;
}

const wantedBack: readonly WantedField[] = [
  { key: 'gemini', owner: 'gemini', name: 'thoughtSignature', isValid: (value) => typeof value === 'string' },
  // So do Gemini models behind chat completions: they have their signature there, behind routers here.
  { key: 'openai', owner: 'openai', name: 'extra_content', isValid: isJsonObject },
  { key: 'sealed', owner: 'openai', name: 'reasoning_details', isValid: (value) => Array.isArray(value) },
];

/** Stands between the id that a server gave and what travels with it; letters and signs that every dialect allows. */
const marker = '-sluice1-';

interface Call extends Extensible {
  id: string;
}

/**
 * The id of a call for a client of `format`. Every client returns ids verbatim, and nothing else for sure: what the
 * server wants back with the call, and this format has no place for, travels in it. `decodeCallId` is its inverse.
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

/** The id as the server gave it, and what travelled with it. Luggage that a client damaged is left behind. */
export function decodeCallId(id: string): Call {
  const end = id.lastIndexOf(marker);
  if (end <= 0) return { id };
  const luggage = parseObject(Buffer.from(id.slice(end + marker.length), 'base64url').toString());
  const extensions: NonNullable<Extensible['extensions']> = {};
  for (const { key, owner, name, isValid } of wantedBack) {
    const value = luggage[key];
    if (isValid(value)) extensions[owner] = { ...extensions[owner], [name]: value };
  }
  const bare = id.slice(0, end);
  return Object.keys(extensions).length === 0 ? { id: bare } : { id: bare, extensions };
}

/** A call that came back from a client, as its server made it. What the client said beside the id is the newer word. */
export function unpackCall(part: ToolCallPart): ToolCallPart {
  const { id, extensions } = decodeCallId(part.id);
  if (id === part.id) return part;
  return { ...part, id, ...(extensions && { extensions: { ...extensions, ...part.extensions } }) };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
