import { collect, type GenerationEvent, type Json, type JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { SseParser } from '../../sse.ts';
import { anthropic } from '../index.ts';

const { server, client } = anthropic;
const thought = 'Two ways 🤔: “a” or b.';
const context = { id: 'g', createdAt: 0, model: 'm' };
const events: GenerationEvent[] = [
  { type: 'start', ...context },
  { type: 'reasoning-delta', block: 0, text: thought.slice(0, 9) },
  { type: 'reasoning-delta', block: 0, text: thought.slice(9) },
  { type: 'text-delta', block: 1, text: 'b.' },
  { type: 'finish', reason: 'stop', usage: {} },
];

/** What a client that asked for this display of thinking is answered, if the model signs nothing. */
function answered(display: string) {
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
