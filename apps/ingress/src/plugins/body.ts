import { SluiceError } from '@sluice/canonical';
import type { HttpHeaders } from '@sluice/formats';
import type { FastifyInstance } from 'fastify';

/** Deeper bodies are nobody's prompt; recursion over them could end the process. */
const depthLimit = 200;
/**
 * Each value costs some microseconds and 100 bytes until it is decoded, a few bytes of body: 8 MB of empty objects held
 * the process up for 16 s. A million tokens of the densest data are not as many.
 */
const valueLimit = 200_000;
/**
 * Fields of an object past its 64th, of all objects of a body together. Objects of hundreds of fields that are copied
 * cost far more than their share: 2 MB of them held the process up for 12 s. Rows of tables stay below the 64, and a
 * map of 10,000 fields is no tool's.
 */
const ordinaryWidth = 64;
const wideFieldLimit = 10_000;
/** Fields so far of the object that is open at each depth; of one call at a time. */
const widths = new Uint32Array(depthLimit + 1);

/**
 * Reads bodies as JSON: a missing content type counts as JSON, charset parameters are fine, anything of another
 * type is refused, and so is nesting past the limit and what holds too many values or fields, before it is parsed.
 */
export function registerBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (http, body, done) => {
    try {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
      if (http.exchange) http.exchange.bodyBytes = bytes.length;
      done(null, parseBody(http.headers['content-type'], bytes));
    } catch (error) {
      done(error as SluiceError);
    }
  });
}

/** Throws for a body that came compressed. Call it where bodies are read, before they are. */
export function refuseCompressed(headers: HttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && String(encoding).toLowerCase() !== 'identity') {
    throw new SluiceError('unsupported-media', 'compressed bodies are not accepted');
  }
}

/** What refuses a call without a body, which the framework does not read. */
export function noBody(): SluiceError {
  return new SluiceError('invalid-request', 'the body is empty', { detail: 'invalid-json' });
}

/** A type without its second half is none: the framework refuses that, too, and an empty one. */
const jsonType = /^(?:application\/json|[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]*\+json)$/;

/** Throws for what is no JSON, says it is none, is nested too deep or holds too many values or fields. */
export function parseBody(contentType: string | undefined, body: Buffer): unknown {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && !jsonType.test(type)) {
    throw new SluiceError('unsupported-media', 'the content type must be application/json');
  }
  if (body.length === 0) throw noBody();
  assertModest(body);
  try {
    const parsed: unknown = JSON.parse(utf8.decode(body));
    return parsed;
  } catch (cause) {
    // The parser's own text would repeat pieces of the prompt.
    throw new SluiceError('invalid-request', 'the body is not valid JSON', { detail: 'invalid-json', cause });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket, comma, colon] = [
  34, 92, 123, 125, 91, 93, 44, 58,
];

/** Throws for a JSON text past the limits of nesting, of values and of fields in wide objects, found without building it. */
function assertModest(body: Buffer): void {
  let depth = 0;
  let values = 1;
  let wideFields = 0;
  widths[0] = 0;
  let inString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (inString) {
      if (byte === backslash) index += 1;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      values += 1;
      if (depth > depthLimit) {
        throw new SluiceError('invalid-request', `the body is nested deeper than ${depthLimit} levels`, {
          detail: 'invalid-json',
        });
      }
      widths[depth] = 0;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    else if (byte === comma) values += 1;
    else if (byte === colon) {
      const width = (widths[depth] ?? 0) + 1;
      widths[depth] = width;
      if (width > ordinaryWidth) wideFields += 1;
      if (wideFields > wideFieldLimit) {
        const fact = `objects of more than ${ordinaryWidth} fields with more than ${wideFieldLimit} beyond those`;
        throw new SluiceError('too-large', `the body holds ${fact}`);
      }
    }
    if (values > valueLimit)
      throw new SluiceError('too-large', `the body holds more than ${valueLimit} JSON values`);
  }
}
