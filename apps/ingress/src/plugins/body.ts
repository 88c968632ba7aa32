import { SluiceError } from '@sluice/canonical';
import type { HttpHeaders } from '@sluice/formats';
import type { FastifyInstance } from 'fastify';
import type { Exchange } from '../exchange.ts';
import type { PromptRoom } from '../guards/prompt-room.ts';
import { exchangeOf } from './observe.ts';

/** No prompt is nested more deeply, and recursion over a body that is could end the process. */
const depthLimit = 200;
/**
 * A value may be only a few bytes of body, but costs some microseconds and 100 bytes of memory to decode: 8 MB of empty
 * objects blocked the process for 16 s. Even a million tokens of the densest data hold fewer values than this.
 */
const valueLimit = 200_000;
/**
 * Fields beyond an object's 64th count as wide, and all objects of a body together may have 10,000 of them. Copying
 * objects with hundreds of fields is disproportionately slow: 2 MB of them blocked the process for 12 s. Rows of tables
 * stay below 64 fields, and no tool takes a map of 10,000.
 */
const ordinaryWidth = 64;
const wideFieldLimit = 10_000;
/** Fields so far of the object that is open at each depth. Shared by all calls, which never overlap. */
const widths = new Uint32Array(depthLimit + 1);

/**
 * Reads bodies as JSON. A missing content type counts as JSON, and charset parameters are fine; any other type is
 * refused. Bodies beyond the limits of nesting, values or fields are refused before they are parsed.
 */
export function registerBody(app: FastifyInstance, promptRoom: PromptRoom): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (http, body, done) => {
    try {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
      done(null, readBody(exchangeOf(http), http.headers['content-type'], bytes, promptRoom));
    } catch (error) {
      done(error as SluiceError);
    }
  });
}

/**
 * Parses the body of a request. If the caller is known, room for the body is reserved first: it takes several times its
 * size while it is parsed, and is kept to the end of the request.
 */
export function readBody(
  exchange: Exchange,
  contentType: string | undefined,
  body: Buffer,
  promptRoom: PromptRoom,
): unknown {
  exchange.bodyBytes = body.length;
  if (exchange.caller) promptRoom.take(exchange, exchange.caller.tenant, body.length);
  return parseBody(contentType, body);
}

/** Throws if the body is compressed. Call it before the body is read, on routes that read one. */
export function refuseCompressed(headers: HttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && String(encoding).toLowerCase() !== 'identity') {
    throw new SluiceError('unsupported-media', 'compressed bodies are not accepted');
  }
}

/** The refusal of a call without a body, which fastify passes on unparsed. */
export function noBody(): SluiceError {
  return new SluiceError('invalid-request', 'the body is empty', { detail: 'invalid-json' });
}

/** As nearly every client spells it. */
const plainType = 'application/json';
/** A type without a subtype, or an empty one, does not match: fastify refuses those, too. */
const jsonType = /^(?:application\/json|[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]*\+json)$/;

/**
 * Parses a body. Throws if it is not JSON or not declared as JSON, nested too deeply, or holds too many values or
 * fields.
 */
export function parseBody(contentType: string | undefined, body: Buffer): unknown {
  if (contentType !== undefined && contentType !== plainType && !isJsonType(contentType))
    throw new SluiceError('unsupported-media', 'the content type must be application/json');
  if (body.length === 0) throw noBody();
  assertWithinLimits(body);
  try {
    const parsed: unknown = JSON.parse(utf8.decode(body));
    return parsed;
  } catch (cause) {
    // The parser's own message would repeat pieces of the prompt.
    throw new SluiceError('invalid-request', 'the body is not valid JSON', { detail: 'invalid-json', cause });
  }
}

function isJsonType(contentType: string): boolean {
  const [type = ''] = contentType.split(';');
  return jsonType.test(type.trim().toLowerCase());
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket, comma, colon] = [
  34, 92, 123, 125, 91, 93, 44, 58,
];

/**
 * Throws for a JSON text beyond the limits of nesting, values or wide fields. It only scans the bytes and builds
 * nothing.
 */
function assertWithinLimits(body: Buffer): void {
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
