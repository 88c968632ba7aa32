import {
  collect,
  errorInfoOf,
  estimateInputTokens,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  type Json,
  SluiceError,
} from '@sluice/canonical';
import type { WireRequest } from '../codec.ts';
import { decodeStream, encodeStream, formatNamed, targetOf, textCall } from '../golden-run.ts';
import { formats } from '../registry.ts';
import type { BadInput } from './bad-input.ts';
import { canary } from './oddities.ts';

const context = { id: 'corpus', createdAt: 0, model: 'corpus' };
const requestKinds: ReadonlySet<string> = new Set(['invalid-request', 'not-found']);

/** Runs one input through the codecs. Says what went wrong; absent if nothing did. */
export function judge(input: BadInput): string | undefined {
  try {
    return judgeKind(input) ?? judgePrototypes();
  } catch (thrown) {
    const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'something that is no error';
    return `threw ${what.slice(0, 600)}`;
  }
}

function judgeKind(input: BadInput): string | undefined {
  switch (input.kind) {
    case 'request':
      return judgeRequest(input.format, input.wire);
    case 'text': {
      const body = parse(input.text);
      const wire = { path: input.path, query: {}, headers: {}, requestId: 'corpus', body };
      return body === undefined ? undefined : judgeRequest(input.format, wire);
    }
    case 'body':
      return judgeBody(input.format, input.status, input.body);
    case 'stream':
      return judgeStream(input.format, input.bytes);
    default:
      return 'an input of an unknown kind';
  }
}

function parse(text: string): Json | undefined {
  // The ingress refuses deeper bodies before it parses them.
  if (/[[{]{200}|(?:\{"a":){200}/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A request must be decoded or refused. A decoded one must be countable, and each dialect must encode or refuse it. */
function judgeRequest(format: string, wire: WireRequest): string | undefined {
  let request: InferenceRequest;
  try {
    const { server } = formatNamed(format);
    const decoded = server.decodeRequest(wire);
    ({ request } = decoded);
    server.createStreamEncoder(decoded.call).keepAlive();
  } catch (thrown) {
    return judgeRefusal(thrown, requestKinds);
  }
  if (!Number.isFinite(estimateInputTokens(request))) return 'the estimate is not a number';
  const strange = findNonJson(request, 'request');
  if (strange !== undefined) return strange;
  for (const { client } of formats) {
    try {
      const encoded = client.encodeRequest(request, targetOf(request.model));
      const wrong = findNonJson(encoded.body, `the body for ${client.format}`);
      if (wrong !== undefined) return wrong;
      new URL(`http://upstream${encoded.path}`);
      new Headers(encoded.headers);
    } catch (thrown) {
      const wrong = judgeRefusal(thrown, requestKinds);
      if (wrong !== undefined) return `toward ${client.format}: ${wrong}`;
    }
  }
  return undefined;
}

function judgeRefusal(thrown: unknown, kinds: ReadonlySet<string>): string | undefined {
  if (!(thrown instanceof SluiceError)) throw thrown;
  if (!kinds.has(thrown.kind)) return `refused as ${thrown.kind}: ${thrown.message}`;
  const told = JSON.stringify(thrown.info);
  if (told.includes(canary)) return `the refusal repeats what was sent: ${told.slice(0, 300)}`;
  if (told.length > 2_000) return `the refusal has ${told.length} characters`;
  for (const { server } of formats) JSON.stringify(server.encodeError(thrown.info, { requestId: 'corpus' }));
  return undefined;
}

function judgeBody(format: string, status: number, body: Json): string | undefined {
  const { client, server } = formatNamed(format);
  if (status >= 400) {
    const error = client.decodeError(status, { 'retry-after': '7' }, body);
    if (typeof error.message !== 'string' || error.message.length > 500)
      return 'the message is no short text';
    const strange = findNonJson(error, 'the error');
    if (strange !== undefined) return strange;
    return findNonJson(server.encodeError(error, { requestId: 'corpus' }), 'the error');
  }
  return judgeEvents(client.decodeResponse(body, context));
}

function judgeStream(format: string, bytes: Uint8Array): string | undefined {
  const { client } = formatNamed(format);
  const decode = (pieces: Uint8Array[]) => decodeStream(client, context, pieces);
  let events: GenerationEvent[];
  try {
    events = decode([bytes]);
  } catch (thrown) {
    return judgeRefusal(thrown, new Set(['upstream-failed']));
  }
  const half = Math.floor(bytes.length / 2);
  const cut = decode([bytes.subarray(0, half), bytes.subarray(half)]);
  if (JSON.stringify(cut) !== JSON.stringify(events)) return 'another cut of the bytes gives other events';
  return judgeEvents(events);
}

/** Whatever a server sent, its events must be legal and every format must be able to encode them. */
function judgeEvents(events: readonly GenerationEvent[]): string | undefined {
  const broken = findGrammarError(events);
  if (broken !== undefined) return broken;
  const strange = findNonJson(events, 'events');
  if (strange !== undefined) return strange;
  const isAnswer = events.at(-1)?.type === 'finish';
  const oddPart = isAnswer ? findNonJson(collect(events), 'answer') : undefined;
  if (oddPart !== undefined) return oddPart;
  for (const format of formats) {
    const call = { ...textCall(format.server.format), choices: 1 };
    const text = encodeStream(format, call, [events]);
    if (text === '') return `${format.server.format} says nothing`;
    const body = isAnswer ? format.server.encodeResponse([collect(events)], call) : {};
    const wrong = findNonJson(body, `the body of ${format.server.format}`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/**
 * Finds what JSON could not express: an object whose prototype differs from those that JSON.parse gives, or a field
 * that is present but undefined.
 */
function findNonJson(value: unknown, path: string): string | undefined {
  if (value === undefined) return `${path} is undefined`;
  if (typeof value !== 'object' || value === null) return undefined;
  const parent: unknown = Object.getPrototypeOf(value);
  if (parent !== Object.prototype && parent !== Array.prototype && parent !== null) {
    return `${path} has a prototype of its own`;
  }
  for (const [name, child] of Object.entries(value)) {
    const found = findNonJson(child, `${path}.${name}`);
    if (found !== undefined) return found.slice(0, 300);
  }
  return undefined;
}

const prototypes = [Object.prototype, Array.prototype, String.prototype, Function.prototype];
const namesAtStart = prototypes.map((prototype) => Reflect.ownKeys(prototype).length);

function judgePrototypes(): string | undefined {
  const isChanged = prototypes.some(
    (prototype, index) => Reflect.ownKeys(prototype).length !== namesAtStart[index],
  );
  return isChanged ? 'a prototype was changed' : undefined;
}

/** The kind that an input is refused as, for statistics; `served` if it is accepted. */
export function verdictOf(input: BadInput): string {
  if (input.kind !== 'request') return input.kind;
  try {
    formatNamed(input.format).server.decodeRequest(input.wire);
    return 'served';
  } catch (thrown) {
    return errorInfoOf(thrown).kind;
  }
}
