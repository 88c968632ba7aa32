import { isJsonObject, type Json } from '../json.ts';
import type { MediaPart } from '../request.ts';

/** A data URL up to its data. */
const dataUrl = /^data:([^,;]{0,100})[^,]{0,200};base64,/i;
const unknownType = 'application/octet-stream';

/** The file that a value of a foreign part holds: a data URL, or the source of a block. Absent for any other value. */
export function embeddedFile(value: Json): MediaPart | undefined {
  if (typeof value === 'string') {
    const [beginning, mediaType] = dataUrl.exec(value) ?? [];
    return beginning === undefined
      ? undefined
      : file(mediaType || unknownType, value.slice(beginning.length));
  }
  if (!isJsonObject(value) || value.type !== 'base64' || typeof value.data !== 'string') return undefined;
  return file(typeof value.media_type === 'string' ? value.media_type : unknownType, value.data);
}

function file(mediaType: string, data: string): MediaPart {
  return { type: 'media', mediaType, source: { type: 'base64', data } };
}
