import {
  collect,
  errorInfoOf,
  findGrammarError,
  type Generation,
  type GenerationEvent,
  SluiceError,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { unpackCall } from './calls/call-luggage.ts';
import type { ClientCall, Format } from './codec.ts';
import { type GoldenCase, goldenCases, goldenFormats, isUpdating, writeEvents } from './golden-case.ts';
import {
  callOf,
  contextOf,
  decodeCase,
  decodeStream,
  encodeStream,
  formatNamed,
  targetOf,
  textCall,
  wireOf,
} from './golden-run.ts';
import { TextValues } from './json/text-values.ts';
import { formats } from './registry.ts';

/*
 * A case is a folder `golden/<format>/<name>/` of files that agree; each may be absent.
 *
 *   request.json    the client's body             canonical.json  what it decodes to
 *   encoded.json    the body for a server of the same format, from canonical.json
 *   events.jsonl    the answer as events          response.json, stream.txt, error.json  the answer on the wire
 *   upstream.txt    a foreign server's stream     upstream.json   its single body; both decode to events.jsonl
 *   case.json       see `CaseFacts`
 *
 * UPDATE_GOLDEN=1 rewrites what the code produces. Run it twice if upstream.* is new, since its events come first.
 * The case `text` of every format streams and asks for everything that the format's stream can report (usage,
 * SSE framing). Its call is used to encode events of other formats.
 */

const cases = goldenFormats().flatMap(goldenCases);

/** Splits at every byte, so that no piece holds a whole character beyond ASCII. */
function* bytesOf(text: string): Generator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let index = 0; index < bytes.length; index += 1) yield bytes.subarray(index, index + 1);
}

/** What a list of events amounts to: the generation, or the kind of error that it ended with. */
function outcome(events: readonly GenerationEvent[]): Generation | { kind: string } {
  try {
    return collect(events);
  } catch (thrown) {
    return { kind: errorInfoOf(thrown).kind };
  }
}

/** Checks that the code produces the case's file letter by letter, so that an update run would change nothing. */
function sameAsFile(golden: GoldenCase, file: string, actual: unknown): void {
  const text = `${JSON.stringify(actual, null, 2)}\n`;
  expect(text).toBe(golden.expected(file, text));
  same(actual, actual);
}

/** Checks that both are equal as JSON, and that absent fields are missing rather than undefined. */
function same(actual: unknown, wanted: unknown): void {
  expect(actual).toStrictEqual(JSON.parse(JSON.stringify(wanted)));
}

for (const golden of cases) describe(`${golden.format} ${golden.name}`, () => checkCase(golden));

function checkCase(golden: GoldenCase): void {
  if (golden.wire) checkRequest(golden);
  const format = formatNamed(golden.format);
  for (const file of ['upstream.txt', 'upstream.json']) {
    const text = golden.read(file);
    if (text !== undefined)
      test(`${file} decodes to the events`, () => checkUpstream(golden, format, file, text));
  }
  if (golden.events.length > 0) checkAnswer(golden, format);
}

function checkRequest(golden: GoldenCase): void {
  const { facts } = golden;
  if (facts.refused) {
    test('the request is refused', () => {
      expect(() => decodeCase(golden)).toThrow(SluiceError);
      try {
        decodeCase(golden);
      } catch (thrown) {
        expect(errorInfoOf(thrown)).toMatchObject(facts.refused ?? {});
      }
    });
    return;
  }
  test('the request decodes to its canonical form', () => {
    const { request, call, operation } = decodeCase(golden);
    sameAsFile(golden, 'canonical.json', request);
    expect(call).toMatchObject(facts.call ?? {});
    expect(operation).toBe(facts.operation ?? 'generate');
  });
  test('the canonical form is encoded for a server and read back', () => checkRepeat(golden));
  for (const { client, server } of formats) {
    const name = server.format;
    if (name === golden.format) continue;
    test(`${name} can express the canonical form or names what it cannot`, () => {
      const { request } = decodeCase(golden);
      try {
        const { path, body } = client.encodeRequest(request, targetOf(request.model));
        const again = server.decodeRequest(wireOf(name, path, body));
        expect(again.request.messages.length).toBeGreaterThan(0);
      } catch (thrown) {
        expect(errorInfoOf(thrown)).toMatchObject({ kind: 'invalid-request', param: expect.any(String) });
      }
    });
  }
}

function checkRepeat(golden: GoldenCase): void {
  const { request } = decodeCase(golden);
  const { client, server } = formatNamed(golden.format);
  const { path, body, dropped } = client.encodeRequest(request, targetOf(request.model));
  sameAsFile(golden, 'encoded.json', body);
  expect(dropped).toEqual([]);
  const again = server.decodeRequest(wireOf(golden.format, path, body)).request;
  if (golden.facts.notRepeatable === undefined) same(again, request);
}

function checkUpstream(golden: GoldenCase, { client }: Format, file: string, text: string): void {
  const context = contextOf(golden.events[0] ?? []);
  const single = file.endsWith('.json');
  const events = single
    ? client.decodeResponse(JSON.parse(text), context)
    : decodeStream(client, context, [text]);
  expect(findGrammarError(events)).toBeUndefined();
  const lines = writeEvents(events);
  expect(lines).toBe(golden.expected('events.jsonl', lines));
  same(events, events);
  if (!single) same(decodeStream(client, context, bytesOf(text)), events);
}

function checkAnswer(golden: GoldenCase, format: Format): void {
  const call = callOf(golden);
  const [first = []] = golden.events;
  const fails = golden.events.some((events) => events.at(-1)?.type === 'error');
  test('the events are legal', () => {
    for (const events of golden.events) expect(findGrammarError(events)).toBeUndefined();
  });
  test('the events are encoded as the stream', () => {
    const text = encodeStream(format, call, golden.events);
    expect(text).toBe(golden.expected('stream.txt', text));
  });
  test('the stream is decoded to the same answer, cut anywhere', () => {
    const stream = encodeStream(format, call, golden.events);
    for (const pieces of [[stream], bytesOf(stream)]) {
      const events = decodeStream(format.client, contextOf(first), pieces);
      expect(findGrammarError(events)).toBeUndefined();
      if (golden.facts.lossy === undefined && golden.events.length === 1)
        same(outcome(events), outcome(first));
    }
  });
  if (fails) {
    test('the error is encoded as a body', () => {
      const error = first.find((event) => event.type === 'error')?.error;
      const encoded = error && format.server.encodeError(error, { requestId: call.requestId });
      sameAsFile(golden, 'error.json', encoded);
    });
  } else checkSingleBody(golden, format, call);
  for (const other of formats) {
    const name = other.server.format;
    if (name === golden.format && golden.events.length > 1) continue;
    test(`${name} streams what its single body says`, () => checkForeign(golden, name, other));
  }
}

function checkSingleBody(golden: GoldenCase, format: Format, call: ClientCall): void {
  test('the collected answer is encoded as the single body, and decoded to the same answer', () => {
    const body = format.server.encodeResponse(golden.events.map(collect), call);
    sameAsFile(golden, 'response.json', body);
    const [first = []] = golden.events;
    const events = format.client.decodeResponse(body, contextOf(first));
    expect(findGrammarError(events)).toBeUndefined();
    if (golden.facts.lossy === undefined && golden.events.length === 1) same(outcome(events), outcome(first));
  });
}

function checkForeign(golden: GoldenCase, name: string, format: Format): void {
  for (const events of golden.events) {
    const call = { ...textCall(name), choices: 1 };
    const stream = encodeStream(format, call, [events]);
    const context = contextOf(events);
    const streamed = decodeStream(format.client, context, [stream]);
    expect(findGrammarError(streamed)).toBeUndefined();
    const wanted = outcome(events);
    if ('kind' in wanted) expect(outcome(streamed)).toHaveProperty('kind');
    else
      same(
        format.server.encodeResponse([unpacked(collect(streamed))], call),
        format.server.encodeResponse([wanted], call),
      );
  }
}

/** An answer with its calls as they come back from the client. */
function unpacked(answer: Generation): Generation {
  const values = new TextValues();
  const content = answer.content.map((part) => (part.type === 'tool-call' ? unpackCall(part, values) : part));
  return { ...answer, content };
}

test.runIf(!isUpdating)('there is a case to check', () => expect(cases.length).toBeGreaterThan(0));
