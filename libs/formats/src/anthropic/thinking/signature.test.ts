import { collect, type GenerationEvent, type Json, type JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { SseParser } from '../../sse.ts';
import { anthropic } from '../index.ts';

const { server, client } = anthropic;
const thought = 'Two ways 🤔: “a” or b.';
const context = { id: 'g', createdAt: 0, model: 'm' };
const unsigned: GenerationEvent[] = [
  { type: 'start', ...context },
  { type: 'reasoning-delta', block: 0, text: thought.slice(0, 9) },
  { type: 'reasoning-delta', block: 0, text: thought.slice(9) },
  { type: 'text-delta', block: 1, text: 'b.' },
  { type: 'finish', reason: 'stop', usage: {} },
];

/** What a client that asked for this display of thinking is answered, if the server says this. */
function answered(display: string, events: readonly GenerationEvent[] = unsigned) {
  const body = {
    model: 'm',
    max_tokens: 9000,
    thinking: { type: 'adaptive', display },
    messages: [{ role: 'user', content: 'Which?' }],
  };
  const http = { path: '/v1/messages', headers: {}, query: {}, requestId: 'r' };
  const { call } = server.decodeRequest({ ...http, body });
  const encoder = server.createStreamEncoder(call);
  const single = server.encodeResponse([collect(events)], call) as { content: Json[] };
  return {
    single,
    stream: events.map((event) => encoder.push(event, 0)).join(''),
    /** What the server is asked next, if the client repeats what it got. */
    next(content: Json[]): unknown {
      const turns = [...body.messages, { role: 'assistant', content }, { role: 'user', content: 'Why?' }];
      return server.decodeRequest({ ...http, body: { ...body, messages: turns } }).request.messages[1]
        ?.content;
    },
  };
}

/** What a gateway in front of this gateway reads from its stream. */
function heard(stream: string): unknown {
  const decoder = client.createStreamDecoder(context);
  const parser = new SseParser();
  return collect([...parser.push(stream).flatMap((message) => decoder.push(message)), ...decoder.end()])
    .content;
}

describe('thinking of a model that signs nothing', () => {
  const whole = [
    { type: 'reasoning', text: thought },
    { type: 'text', text: 'b.' },
  ];

  test('comes back from a client that did not want to see it', () => {
    const { single, next } = answered('omitted');
    const [block] = single.content as JsonObject[];
    expect(block).toMatchObject({ type: 'thinking', thinking: '' });
    expect(next(single.content)).toEqual(whole);
  });

  test('is signed the same in a stream and in a body, and neither shows it', () => {
    const { single, stream } = answered('omitted');
    const [block] = single.content as JsonObject[];
    expect(stream).toContain(JSON.stringify({ type: 'signature_delta', signature: block?.signature }));
    expect(stream).not.toContain('Two ways');
  });

  test('is read by a gateway in front of another gateway, however that sends it', () => {
    for (const display of ['omitted', 'summarized']) {
      const { single, stream } = answered(display);
      expect(heard(stream)).toEqual(whole);
      expect(collect(client.decodeResponse(single, context)).content).toEqual(whole);
    }
  });

  test('is not repeated if it was shown', () => {
    const { single, next } = answered('summarized');
    expect(next(single.content)).toEqual(whole);
    const [block] = single.content as JsonObject[];
    expect(Buffer.from(`${block?.signature}`, 'base64').toString()).not.toContain('Two ways');
  });
});

describe('thinking that a server shows and signs although the client did not want to see it', () => {
  const signature = '0af7651916cd43dd8448eb211c80319c';
  const signed: GenerationEvent[] = unsigned.toSpliced(3, 0, {
    type: 'block-annotation',
    block: 0,
    extensions: { anthropic: { signature } },
  });
  const whole = [
    { type: 'reasoning', text: thought, extensions: { anthropic: { signature } } },
    { type: 'text', text: 'b.' },
  ];

  test('comes back with the signature, which may be a mere id', () => {
    const { single, next } = answered('omitted', signed);
    expect(single.content[0]).toMatchObject({ type: 'thinking', thinking: '' });
    expect(next(single.content)).toEqual(whole);
  });

  test('is sealed the same in a stream and in a body, and both are read by a gateway before this one', () => {
    const { single, stream } = answered('omitted', signed);
    const [block] = single.content as JsonObject[];
    expect(stream).toContain(JSON.stringify({ type: 'signature_delta', signature: block?.signature }));
    expect(heard(stream)).toEqual(whole);
    expect(collect(client.decodeResponse(single, context)).content).toEqual(whole);
  });

  test('is only the signature if the server shows no text', () => {
    const hidden = signed.filter(({ type }) => type !== 'reasoning-delta');
    const opened = hidden.toSpliced(1, 0, { type: 'reasoning-delta', block: 0, text: '' });
    const { single, stream } = answered('omitted', opened);
    expect(single.content[0]).toEqual({ type: 'thinking', thinking: '', signature });
    expect(stream).toContain(JSON.stringify({ type: 'signature_delta', signature }));
  });

  test('keeps its signature beside the text if it is shown', () => {
    const { single } = answered('summarized', signed);
    expect(single.content[0]).toEqual({ type: 'thinking', thinking: thought, signature });
  });

  test('is nothing if a client made the seal up', () => {
    for (const made of ['/3/', '/3/{"text":1,"signature":2}', '/3/[]', '/9/x']) {
      const seal = `c2x1aWNl${Buffer.from(made).toString('base64')}`;
      const { next } = answered('omitted');
      const said = { type: 'text', text: 'b.' };
      expect(next([{ type: 'thinking', thinking: '', signature: seal }, said])).toEqual([said]);
    }
  });
});
