import { bytesPerJsonValue, SluiceError } from '@sluice/canonical';
import type { HttpHeaders } from '@sluice/formats';
import type { Exchange } from '../exchange.ts';
import type { PromptRoom } from '../guards/prompt-room.ts';
import { countWithinLimits } from './body-limits.ts';

/**
 * Parses the body of a request. If the caller is known, room for it is reserved first: it is kept to the end of the
 * request, as the objects that it was parsed to. 142 streams, each with 60 KB of empty objects as the parameters of a
 * function, ended a process of 256 MB when only their bytes were counted.
 */
export function readBody(
  exchange: Exchange,
  contentType: string | undefined,
  body: Buffer,
  promptRoom: PromptRoom,
): unknown {
  exchange.bodyBytes = body.length;
  return parseBody(contentType, body, (values) => {
    const { caller } = exchange;
    if (caller) promptRoom.take(exchange, caller.tenant, body.length + values * bytesPerJsonValue);
  });
}

/** Throws if the body is compressed. Call it before the body is read, on routes that read one. */
export function refuseCompressed(headers: HttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && !String(encoding).split(',').every(isPlain)) {
    throw new SluiceError('unsupported-media', 'compressed bodies are not accepted');
  }
}

function isPlain(coding: string): boolean {
  const name = coding.trim().toLowerCase();
  return name === '' || name === 'identity';
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
 * fields. `reserve` is told of its values before they are built.
 */
export function parseBody(
  contentType: string | undefined,
  body: Buffer,
  reserve?: (values: number) => void,
): unknown {
  if (contentType !== undefined && contentType !== plainType && !isJsonType(contentType))
    throw new SluiceError('unsupported-media', 'the content type must be application/json');
  if (body.length === 0) throw noBody();
  const values = countWithinLimits(body);
  reserve?.(values);
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
