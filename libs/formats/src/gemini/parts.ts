import {
  assertNever,
  extend,
  type FormatId,
  isJsonObject,
  type JsonObject,
  type MediaPart,
  type Opaque,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
} from '@sluice/canonical';
import type { MediaReference, ReferenceHandling } from '../codec.ts';
import { keptBeside, keptFields } from '../json/kept-fields.ts';
import { typeOfData } from '../media/image-type.ts';
import { placed } from '../places.ts';
import { parseArguments } from './arguments.ts';
import { FORMAT, keptOn, noteForeign, withInner, withKept } from './kept.ts';
import { invalidField, type WirePart } from './wire.ts';

/** Fields that describe a part but are no content themselves. */
const flags: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
]);
/** The fields of a part, of data and of a file that are read by name. */
const partFields = new Set(['text', 'thought', 'inlineData', 'fileData']);
const dataFields = new Set(['mimeType', 'data', 'displayName']);
const fileFields = new Set(['mimeType', 'fileUri', 'displayName']);
const kinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;

/** Refuses a part that is two things at once. `path` is its place in the client's body. */
export function checkPart(part: WirePart, path: string): void {
  const found = kinds.filter((kind) => part[kind] !== undefined);
  if (found.length > 1) throw invalidField(path, `only one of ${found.join(', ')} in a part`);
}

/**
 * Decodes a part that is neither a call nor a result; what only this format understands stays verbatim. `path` is its
 * place in the client's body; absent for a part of an answer.
 */
export function decodePart(part: WirePart, path?: string): TextPart | ReasoningPart | MediaPart | Opaque {
  const decoded = readPart(part);
  const isRefusable = decoded.type === 'media' || decoded.type === 'opaque';
  return isRefusable && path !== undefined ? placed(decoded, path) : decoded;
}

function readPart(part: WirePart): TextPart | ReasoningPart | MediaPart | Opaque {
  const { text, thought, inlineData, fileData } = part;
  const kept = keptBeside(part, partFields);
  if (thought !== undefined && text === undefined) kept.thought = thought;
  if (inlineData) {
    const { mimeType, data, displayName } = inlineData;
    const source = { type: 'base64' as const, data: standardBase64(data) };
    const inner = keptBeside(inlineData, dataFields);
    return decodedMedia(mimeType, displayName, source, withInner(kept, 'inlineData', inner));
  }
  if (fileData) {
    const { mimeType = 'image/*', fileUri, displayName } = fileData;
    const source = /^https?:/i.test(fileUri)
      ? { type: 'url' as const, url: fileUri }
      : { type: 'file-id' as const, id: fileUri };
    const inner = keptBeside(fileData, fileFields);
    return decodedMedia(mimeType, displayName, source, withInner(kept, 'fileData', inner));
  }
  if (text === undefined && Object.keys(kept).some((name) => !flags.has(name))) {
    return { type: 'opaque', format: FORMAT, value: keptFields(part) };
  }
  return { type: thought === true ? 'reasoning' : 'text', text: text ?? '', ...extend(FORMAT, kept) };
}

function decodedMedia(
  mediaType: string,
  filename: string | undefined,
  source: MediaPart['source'],
  kept: JsonObject,
): MediaPart {
  return {
    type: 'media',
    mediaType,
    ...(filename !== undefined && { filename }),
    source,
    ...extend(FORMAT, kept),
  };
}

/**
 * Converts to the standard alphabet. This dialect also allows the URL-safe one, which the Python SDK writes; other
 * dialects do not.
 */
function standardBase64(data: string): string {
  return /[-_]/.test(data) ? data.replaceAll('-', '+').replaceAll('_', '/') : data;
}

/** A text part, with this format's own fields. */
export function encodeText(part: TextPart): JsonObject {
  return { text: part.text, ...keptOn(part) };
}

/** A thought, with this format's own fields. */
export function encodeReasoning(part: ReasoningPart): JsonObject {
  return { text: part.text, thought: true, ...keptOn(part) };
}

/** Files stored with the API, and videos that only this API can watch. */
const ownPlaces =
  /^https?:\/\/(?:generativelanguage\.googleapis\.com\/(?:[^?#]*\/)?files\/|(?:www\.|m\.)?youtube\.com\/|youtu\.be\/)/i;

/** Every URL can be expressed. Which addresses on the web a server fetches depends on its model and region. */
export function judgeReference({ url }: MediaReference): ReferenceHandling {
  return ownPlaces.test(url) ? 'own' : 'perhaps-read';
}

/** The media type `image/*` stands for "not given". */
export function encodeMedia(part: MediaPart): JsonObject {
  const { mediaType, filename, source } = part;
  const named = { ...(filename !== undefined && { displayName: filename }) };
  const mimeType = mediaType === 'image/*' ? {} : { mimeType: mediaType };
  switch (source.type) {
    case 'base64': {
      // What was kept of a file reference has no place beside the data.
      const { fileData: _reference, ...kept } = keptOn(part);
      return withKept('inlineData', { mimeType: mediaType, data: source.data, ...named }, kept);
    }
    case 'url':
      return withKept('fileData', { ...mimeType, fileUri: source.url, ...named }, keptOn(part));
    case 'file-id':
      return withKept('fileData', { ...mimeType, fileUri: source.id, ...named }, keptOn(part));
    default:
      return assertNever(source);
  }
}

/**
 * Media of a client of another format, as every server accepts it: an image with the type of its bytes, and no file
 * name. Not every version of the API accepts the name, and only the API's own tools read it.
 */
export function acceptedMedia(part: JsonObject): JsonObject {
  const { inlineData, fileData } = part;
  if (isJsonObject(inlineData)) return { ...part, inlineData: nameless(withTrueType(inlineData)) };
  return isJsonObject(fileData) ? { ...part, fileData: nameless(fileData) } : part;
}

function withTrueType(inlineData: JsonObject): JsonObject {
  const { mimeType, data } = inlineData;
  if (typeof mimeType !== 'string' || typeof data !== 'string') return inlineData;
  return { ...inlineData, mimeType: typeOfData(mimeType, data) };
}

function nameless({ displayName: _name, ...data }: JsonObject): JsonObject {
  return data;
}

/** A call is always written whole, with an object as its arguments. */
export function encodeCall(part: ToolCallPart): { part: JsonObject; isMalformed: boolean } {
  const { args, isMalformed } = parseArguments(part.arguments);
  const call = { id: part.id, name: part.name, args };
  return { part: withKept('functionCall', call, keptOn(part)), isMalformed };
}

/** The verbatim value of a part of this format. Throws `invalid-request` for another format's; `path` is canonical. */
export function refuseForeign(part: Opaque, path: string): JsonObject {
  if (part.format === FORMAT && isJsonObject(part.value)) return part.value;
  throw invalidField(path, `only a server of the ${part.format} format can serve this`);
}

/** Encodes a part of a prompt for an upstream. `path` is its place in canonical terms. */
export function encodePart(
  part: TextPart | ReasoningPart | MediaPart | Opaque,
  path: string,
  dropped: FormatId[],
): JsonObject {
  if (part.type === 'opaque') return refuseForeign(part, path);
  noteForeign(part, dropped);
  switch (part.type) {
    case 'text':
      return encodeText(part);
    case 'reasoning':
      return encodeReasoning(part);
    case 'media':
      return encodeMedia(part);
    default:
      return assertNever(part);
  }
}
