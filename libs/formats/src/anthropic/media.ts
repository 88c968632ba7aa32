import { extend, isJsonObject, type JsonObject, type MediaPart, type Opaque } from '@sluice/canonical';
import type { MediaReference, ReferenceHandling } from '../codec.ts';
import { typeOfData } from '../media/image-type.ts';
import { type Encoding, ownFields } from './encoding.ts';
import { base64Source, FORMAT, fileSource, invalid, mediaBlock, parseWire, urlSource } from './wire.ts';

const pdf = 'application/pdf';
/** For a file whose type only the server that stores it knows. */
const unknownFile = 'application/octet-stream';

/** Reads an `image` or `document` block. If the kind of its source is unknown, the whole block stays opaque. */
export function decodeMedia(block: JsonObject, path: string): MediaPart | Opaque {
  const isImage = block.type === 'image';
  const { known, rest } = parseWire(mediaBlock, block, path);
  const source = decodeSource(known.source, isImage, `${path}.source`);
  if (source === undefined) return { type: 'opaque', format: FORMAT, value: block };
  const { rest: sourceRest, ...fields } = source;
  if (Object.keys(sourceRest).length > 0) rest.source = sourceRest;
  const { title, ...untitled } = rest;
  const isTitled = !isImage && typeof title === 'string';
  return {
    type: 'media',
    ...fields,
    ...(isTitled && { filename: title }),
    ...extend(FORMAT, isTitled ? untitled : rest),
  };
}

type Source = Pick<MediaPart, 'mediaType' | 'source'> & { rest: JsonObject };

function decodeSource(source: JsonObject, isImage: boolean, path: string): Source | undefined {
  switch (source.type) {
    case 'base64': {
      const { known, rest } = parseWire(base64Source, source, path);
      return { mediaType: known.media_type, source: { type: 'base64', data: known.data }, rest };
    }
    case 'text': {
      const { known, rest } = parseWire(base64Source, source, path);
      // The other dialects carry documents as bytes.
      const data = Buffer.from(known.data, 'utf8').toString('base64');
      return { mediaType: known.media_type, source: { type: 'base64', data }, rest };
    }
    case 'url': {
      const { known, rest } = parseWire(urlSource, source, path);
      return { mediaType: isImage ? 'image/*' : pdf, source: { type: 'url', url: known.url }, rest };
    }
    case 'file': {
      const { known, rest } = parseWire(fileSource, source, path);
      const mediaType = isImage ? 'image/*' : unknownFile;
      return { mediaType, source: { type: 'file-id', id: known.file_id }, rest };
    }
    default:
      return undefined;
  }
}

/** Writes an image or document for a server. Throws `invalid-request` at `path` for media that it does not accept. */
export function encodeMedia(given: MediaPart, path: string, encoding: Encoding): JsonObject {
  const part = encoding.isForeign ? withTrueType(given) : given;
  const { source: keptSource, ...own } = ownFields(part, encoding);
  const isImage = part.mediaType.startsWith('image/');
  const source = encodeSource(part, isImage);
  if (source === undefined) {
    throw invalid(path, "this model's server accepts images, PDF and text, but no media of this type");
  }
  return {
    type: isImage ? 'image' : 'document',
    source: { ...source, ...(isJsonObject(keptSource) && keptSource) },
    ...(!isImage && part.filename !== undefined && { title: part.filename }),
    ...own,
  };
}

function withTrueType(part: MediaPart): MediaPart {
  const { mediaType, source } = part;
  return source.type === 'base64' ? { ...part, mediaType: typeOfData(mediaType, source.data) } : part;
}

/** Servers fetch images and PDF files themselves; text has to be in the request. */
export function judgeReference({ mediaType }: MediaReference): ReferenceHandling {
  return mediaType.startsWith('image/') || mediaType === pdf ? 'read' : 'refused';
}

function encodeSource({ mediaType, source }: MediaPart, isImage: boolean): JsonObject | undefined {
  if (source.type === 'file-id') return { type: 'file', file_id: source.id };
  if (source.type === 'url') {
    const isRefused = judgeReference({ mediaType, url: source.url }) === 'refused';
    return isRefused ? undefined : { type: 'url', url: source.url };
  }
  if (isImage || mediaType === pdf) return { type: 'base64', media_type: mediaType, data: source.data };
  if (!mediaType.startsWith('text/')) return undefined;
  return {
    type: 'text',
    media_type: 'text/plain',
    data: Buffer.from(source.data, 'base64').toString('utf8'),
  };
}
