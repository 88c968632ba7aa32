import { isUtf8 } from 'node:buffer';
import { imageTypeOf } from '@sluice/formats';

/** What servers say of a file whose type they do not know. */
const unknownTypes: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream']);
const pdf = 'application/pdf';
const pdfTypes: ReadonlySet<string> = new Set([pdf, 'application/x-pdf']);
/** A PDF need not begin with its first byte. */
const pdfSearchBytes = 1024;

/**
 * Whether a file with this `content-type` may be what the request says it is. `expected` is the media type of the part,
 * `image/*` if none was given.
 */
export function mayBe(expected: string, contentType: string): boolean {
  const claimed = essenceOf(contentType);
  const kind = kindOf(expected);
  if (unknownTypes.has(claimed)) return kind !== 'text';
  switch (kind) {
    case 'image':
      return claimed.startsWith('image/');
    case 'pdf':
      return pdfTypes.has(claimed);
    case 'text':
      // An expired link often leads to a page instead of the file.
      return claimed.startsWith('text/') && (claimed !== 'text/html' || essenceOf(expected) === claimed);
    case 'other':
      return claimed === essenceOf(expected);
  }
}

/**
 * The media type of a fetched file, judged by its bytes instead of its server's words. Absent: it is not what the
 * request says.
 */
export function typeOf(expected: string, bytes: Buffer): string | undefined {
  switch (kindOf(expected)) {
    case 'image':
      return imageTypeOf(bytes);
    case 'pdf':
      return bytes.subarray(0, pdfSearchBytes).includes('%PDF-') ? pdf : undefined;
    case 'text':
      return isUtf8(bytes) && !bytes.includes(0) ? essenceOf(expected) : undefined;
    case 'other':
      return essenceOf(expected);
  }
}

function kindOf(expected: string): 'image' | 'pdf' | 'text' | 'other' {
  const essence = essenceOf(expected);
  if (essence.startsWith('image/')) return 'image';
  if (essence === pdf) return 'pdf';
  return essence.startsWith('text/') ? 'text' : 'other';
}

function essenceOf(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase();
}
