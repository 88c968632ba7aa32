import { type GenerationEvent, SluiceError } from '@sluice/canonical';
import type {
  ClientCall,
  ClientCodec,
  DecodedRequest,
  Format,
  GenerationContext,
  UpstreamTarget,
  WireRequest,
} from './codec.ts';
import { type GoldenCase, goldenCases } from './golden-case.ts';
import { formats } from './registry.ts';

/** The format of this name. Throws `internal` if there is none, since the cases are our own files. */
export function formatNamed(name: string): Format {
  const format = formats.find(({ server }) => server.format === name);
  if (!format) throw new SluiceError('internal', `no format ${name}`);
  return format;
}

/** Decodes the request of a case as the ingress would. */
export function decodeCase({ format, wire }: GoldenCase): DecodedRequest {
  const { server } = formatNamed(format);
  if (!wire) throw new SluiceError('internal', 'a case without request.json cannot be decoded');
  return server.decodeRequest({ ...wire, path: wire.path || (server.routes[0] ?? '') });
}

/** The call that a case's answer replies to: the one of its own request, or else of the format's `text` case. */
export function callOf(golden: GoldenCase): ClientCall {
  if (golden.wire && !golden.facts.refused) return { ...decodeCase(golden).call, ...golden.facts.call };
  const requestId = golden.facts.requestId ?? 'golden';
  return { ...textCall(golden.format), choices: golden.events.length, requestId, ...golden.facts.call };
}

const textCalls = new Map<string, ClientCall>();

/** The call of the format's `text` case, which asks for everything that the stream can report. */
export function textCall(format: string): ClientCall {
  let call = textCalls.get(format);
  if (call) return call;
  const text = goldenCases(format).find(({ name }) => name === 'text');
  if (!text) throw new SluiceError('internal', `${format} has no case named text`);
  call = decodeCase(text).call;
  textCalls.set(format, call);
  return call;
}

/** What a decoder must be given so that it reproduces the start event of this list. */
export function contextOf(events: readonly GenerationEvent[]): GenerationContext {
  const start = events[0];
  if (start?.type !== 'start') return { id: 'golden', createdAt: 0, model: 'golden' };
  return { id: start.id, createdAt: start.createdAt, model: start.model };
}

/** Encodes all choices into one stream. Their events alternate, as they do when several generations run at once. */
export function encodeStream(
  format: Format,
  call: ClientCall,
  events: readonly (readonly GenerationEvent[])[],
): string {
  const encoder = format.server.createStreamEncoder(call);
  const longest = Math.max(...events.map((list) => list.length));
  let text = '';
  for (let index = 0; index < longest; index += 1) {
    for (const [choice, list] of events.entries()) {
      const event = list[index];
      if (event) text += encoder.push(event, choice);
    }
  }
  return text;
}

/** All events of a stream that arrives in these pieces. */
export function decodeStream(
  codec: ClientCodec,
  context: GenerationContext,
  pieces: Iterable<Uint8Array | string>,
): GenerationEvent[] {
  const parser = codec.createStreamParser();
  const decoder = codec.createStreamDecoder(context);
  const messages = [...pieces].flatMap((piece) => parser.push(piece));
  return [...[...messages, ...parser.end()].flatMap((message) => decoder.push(message)), ...decoder.end()];
}

/** The request that a server of this format gets when a client codec wrote this path and body. */
export function wireOf(format: string, path: string, body: unknown): WireRequest {
  const url = new URL(`http://upstream${path}`);
  const query = Object.fromEntries(url.searchParams);
  // The base address of an upstream may include the beginning of the path; see `ClientCodec.encodeRequest`.
  const route = formatNamed(format).server.routes.find((whole) => whole.endsWith(url.pathname));
  return { path: route ?? url.pathname, query, headers: {}, requestId: 'golden', body };
}

/** The target of a case's request; its limit is used if the request has none. */
export function targetOf(model: string, stream = true): UpstreamTarget {
  return { model, stream, maxOutputTokens: 4096 };
}
