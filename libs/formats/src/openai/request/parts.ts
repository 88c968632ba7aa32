import {
  assertNever,
  extend,
  type FormatId,
  type JsonObject,
  type MediaPart,
  type Opaque,
  type TextPart,
} from '@sluice/canonical';
import type { MediaReference, ReferenceHandling } from '../../codec.ts';
import { keptFields } from '../../json/kept-fields.ts';
import { placed } from '../../places.ts';
import { ownFields, ownNested, ownValue } from '../foreign.ts';
import {
  anyPart,
  audioPart,
  FORMAT,
  filePart,
  imagePart,
  invalid,
  parseWire,
  readWire,
  refusalPart,
  textPart,
} from '../wire.ts';
import { unnamed } from './text-files.ts';

/** The content of a message: a text, or parts. */
export type WireContent = string | unknown[];

/** Decodes text and refusals. A part of any other type is kept as it is, for servers of this dialect. */
export function decodeTextContent(content: WireContent, path: string): (TextPart | Opaque)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => {
    const at = `${path}[${index}]`;
    return decodeTextPart(parseWire(anyPart, part, at).type, part, at);
  });
}

function decodeTextPart(type: string, part: unknown, path: string): TextPart | Opaque {
  if (type === 'text') {
    const { known, kept } = readWire(textPart, part, path);
    return { type, text: known.text, ...extend(FORMAT, kept) };
  }
  if (type === 'refusal') {
    const { known, kept } = readWire(refusalPart, part, path);
    return refusalText(known.refusal, kept);
  }
  // Safe to cast: the schema has accepted it as an object.
  return placed({ type: 'opaque', format: FORMAT, value: keptFields(part as JsonObject) }, path);
}

/** A refusal is text that this dialect shows in a place of its own. */
export function refusalText(text: string, kept: JsonObject = {}): TextPart {
  kept.refusal = true;
  return { type: 'text', text, ...extend(FORMAT, kept) };
}

/** Like `decodeTextContent`, with images, sound and files. */
export function decodeContent(content: WireContent, path: string): (TextPart | MediaPart | Opaque)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => decodePart(part, `${path}[${index}]`));
}

function decodePart(part: unknown, path: string) {
  const { type } = parseWire(anyPart, part, path);
  switch (type) {
    case 'image_url':
      return placed(decodeImage(part, path), path);
    case 'input_audio':
      return placed(decodeAudio(part, path), path);
    case 'file':
      return placed(decodeFile(part, path), path);
    default:
      return decodeTextPart(type, part, path);
  }
}

function decodeImage(part: unknown, path: string): MediaPart {
  const { known, kept } = readWire(imagePart, part, path, 'image_url');
  const { url } = known.image_url;
  const isCoarse = ownNested(kept, 'image_url').inner.detail === 'low';
  const common = { ...(isCoarse && { detail: 'low' as const }), ...extend(FORMAT, kept) };
  const data = decodeDataUrl(url, `${path}.image_url.url`, 'image/*');
  if (data) return { type: 'media', ...data, ...common };
  if (!/^https?:\/\//i.test(url))
    throw invalid(`${path}.image_url.url`, 'expected an http, https or data URL');
  return { type: 'media', mediaType: 'image/*', source: { type: 'url', url }, ...common };
}

/** Media types that cannot be derived from the name of the format. */
const audioTypes = new Map([['mp3', 'audio/mpeg']]);
const audioFormats = new Map([
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
]);

function decodeAudio(part: unknown, path: string): MediaPart {
  const { known, kept } = readWire(audioPart, part, path, 'input_audio');
  const { data, format } = known.input_audio;
  const mediaType = audioTypes.get(format) ?? `audio/${format}`;
  return { type: 'media', mediaType, source: { type: 'base64', data }, ...extend(FORMAT, kept) };
}

function decodeFile(part: unknown, path: string): MediaPart {
  const { known, kept } = readWire(filePart, part, path, 'file');
  const { file_data, file_id, filename } = known.file;
  const common = { ...(filename != null && { filename }), ...extend(FORMAT, kept) };
  const anyType = 'application/octet-stream';
  if (file_id != null) {
    return { type: 'media', mediaType: anyType, source: { type: 'file-id', id: file_id }, ...common };
  }
  if (file_data == null) throw invalid(`${path}.file`, 'expected file_data or file_id');
  const data = decodeDataUrl(file_data, `${path}.file.file_data`, anyType);
  if (data) return { type: 'media', ...data, ...common };
  if (/^https?:\/\//i.test(file_data)) {
    const mediaType = isPdf(filename) || isPdf(file_data.replace(/[?#].*$/s, '')) ? pdf : anyType;
    const own = { ...kept, file: { ...ownNested(kept, 'file').inner, [byUrl]: true } };
    return {
      type: 'media',
      mediaType,
      source: { type: 'url', url: file_data },
      ...common,
      ...extend(FORMAT, own),
    };
  }
  const mediaType = isPdf(filename) ? pdf : anyType;
  return { type: 'media', mediaType, source: { type: 'base64', data: file_data }, ...common };
}

const pdf = 'application/pdf';
/** Marks a file whose data are a URL. Routers accept one there, and nobody else does. */
const byUrl = 'by_url';

function isPdf(name: string | null | undefined): boolean {
  return name?.toLowerCase().endsWith('.pdf') ?? false;
}

/** Absent for anything but a data URL. Data that is not base64 is converted. */
function decodeDataUrl(
  url: string,
  path: string,
  fallbackType: string,
): Pick<MediaPart, 'mediaType' | 'source'> | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const comma = url.indexOf(',');
  if (comma === -1) throw invalid(path, 'a data URL without a comma');
  const [type, ...parameters] = url.slice(5, comma).split(';');
  const mediaType = type?.trim().toLowerCase() || fallbackType;
  const payload = url.slice(comma + 1);
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) {
    return { mediaType, source: { type: 'base64', data: payload } };
  }
  try {
    const data = Buffer.from(decodeURIComponent(payload)).toString('base64');
    return { mediaType, source: { type: 'base64', data } };
  } catch (cause) {
    if (!(cause instanceof URIError)) throw cause;
    throw invalid(path, 'a data URL with a broken percent code');
  }
}

/** A single text without fields of its own is written as a string, which every server reads. */
export function encodeContent(
  parts: readonly (TextPart | MediaPart | Opaque)[],
  path: string,
  dropped: FormatId[],
): string | JsonObject[] {
  const [only] = parts;
  if (parts.length === 1 && only?.type === 'text' && !only.extensions) return only.text;
  const encoded = parts.map((part, index) => encodePart(part, `${path}[${index}]`, dropped));
  const [first] = encoded;
  if (!first) return '';
  const { type, text } = first;
  const isPlain = encoded.length === 1 && type === 'text' && Object.keys(first).length === 2;
  return isPlain && typeof text === 'string' ? text : encoded;
}

function encodePart(part: TextPart | MediaPart | Opaque, path: string, dropped: FormatId[]): JsonObject {
  switch (part.type) {
    case 'text': {
      const { refusal, ...kept } = ownFields(part, dropped);
      return refusal === true
        ? { ...kept, type: 'refusal', refusal: part.text }
        : { ...kept, type: 'text', text: part.text };
    }
    case 'media':
      return encodeMedia(part, path, dropped);
    case 'opaque':
      return ownValue(part, path);
    default:
      return assertNever(part);
  }
}

/** Only images can be given by URL. */
export function judgeReference({ mediaType }: MediaReference): ReferenceHandling {
  return mediaType.startsWith('image/') ? 'read' : 'refused';
}

/** Throws `invalid-request` for what the dialect has no part for: files and sound by URL. */
export function encodeMedia(part: MediaPart, path: string, dropped: FormatId[]): JsonObject {
  const { mediaType, source, filename } = part;
  const fields = ownFields(part, dropped);
  const said = (type: string, body: JsonObject): JsonObject => {
    const { outer, inner } = ownNested(fields, type);
    const { [byUrl]: _mark, ...kept } = inner;
    return { ...outer, type, [type]: { ...kept, ...body } };
  };
  if (source.type === 'url' && ownNested(fields, 'file').inner[byUrl] === true) {
    return said('file', { file_data: source.url, ...(filename && { filename }) });
  }
  if (source.type === 'file-id') return said('file', { file_id: source.id, ...(filename && { filename }) });
  if (source.type === 'url' && judgeReference({ mediaType, url: source.url }) === 'refused') {
    throw invalid(
      `${path}.source`,
      'a file other than an image by URL, which chat completions cannot express',
    );
  }
  if (source.type === 'url' || mediaType.startsWith('image/')) {
    const url = source.type === 'url' ? source.url : `data:${mediaType};base64,${source.data}`;
    return said('image_url', { url });
  }
  if (mediaType.startsWith('audio/')) {
    const format = audioFormats.get(mediaType) ?? mediaType.slice('audio/'.length);
    return said('input_audio', { data: source.data, format });
  }
  // Servers refuse file data without a name.
  const data = `data:${mediaType};base64,${source.data}`;
  return said('file', { file_data: data, filename: filename ?? unnamed });
}
