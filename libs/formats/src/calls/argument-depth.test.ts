import { collect, type GenerationEvent } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import type { ClientCall, Format } from '../codec.ts';
import { encodeStream, wireOf } from '../golden-run.ts';
import { formats } from '../registry.ts';
import { SseParser } from '../sse.ts';
import { deepestArguments, isTooDeep } from './argument-depth.ts';

/** Arguments of this many levels; the outermost one is an object. */
function nested(levels: number): string {
  return `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
}

const call: ClientCall = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: { sse: true } };

function answer(text: string): GenerationEvent[] {
  return [
    { type: 'start', id: 'g', model: 'm', createdAt: 0 },
    { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
    { type: 'tool-call-delta', block: 0, arguments: text },
    { type: 'tool-call-end', block: 0 },
    { type: 'finish', reason: 'tool-calls', usage: {} },
  ];
}

function history(text: string) {
  const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }];
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ];
  return wireOf('openai', '/chat/completions', { model: 'm', messages });
}

/** What a format writes for a call with such arguments: to a client, to a server, and in a stream to a client. */
function sayIn(format: Format, text: string): [body: string, asked: string, stream: string] {
  const { server, client } = format;
  const chat = formats.find((each) => each.server.format === 'openai');
  if (!chat) throw new TypeError('there are chat completions');
  const { request } = chat.server.decodeRequest(history(text));
  const target = { model: 'm', stream: true, maxOutputTokens: 9 };
  return [
    JSON.stringify(server.encodeResponse([collect(answer(text))], call)),
    JSON.stringify(client.encodeRequest(request, target).body),
    encodeStream(format, call, [answer(text)]),
  ];
}

/** Whether the arguments are written as text, which needs no stack, and not as an object. */
const isText = (said: string) => said.includes('{\\"a\\":');

describe.each(formats.map((format) => [format.client.format, format] as const))(
  'arguments in %s',
  (_dialect, format) => {
    it('are passed on if they are as deep as a client could return', () => {
      for (const said of sayIn(format, nested(deepestArguments))) expect(said).toContain('[[[');
    });

    // One more level than allowed, and more than the stack holds.
    it.each([deepestArguments + 1, 190_000])(
      'are left out where they are of %d levels, but for places that take text',
      (levels) => {
        const takeText = sayIn(format, nested(3)).map(isText);
        const said = sayIn(format, nested(levels));
        expect(said.map((text) => text.includes('[[['))).toEqual(takeText);
        const pieces = new SseParser()
          .push(said[2])
          .map(({ data }) => /"partial_json":"(.*)"\}\}$/.exec(data)?.[1] ?? '');
        // What a client of messages joins and parses is an object in any case.
        expect(isTooDeep(JSON.parse(JSON.parse(`"${pieces.join('')}"`) || '{}'))).toBe(false);
      },
    );
  },
);
