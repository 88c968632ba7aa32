import { collect, type GenerationEvent } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { deepestArguments, isTooDeep } from './argument-depth.ts';
import type { ClientCall } from './codec.ts';
import { encodeStream, wireOf } from './golden-run.ts';
import { formats } from './registry.ts';
import { SseParser } from './sse.ts';

/** Arguments of that many levels, the outermost an object. */
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

describe.each(formats.map((format) => [format.client.format, format] as const))(
  'arguments in %s',
  (dialect, format) => {
    it.each([
      ['as deep as a client could bring back', deepestArguments, true],
      ['of more levels than a stack holds', 200_000, false],
    ])('are said where they are %s, or else left out', (_what, levels, isSaid) => {
      const text = nested(levels);
      const body = JSON.stringify(format.server.encodeResponse([collect(answer(text))], call));
      const request = formats
        .find(({ server }) => server.format === 'openai')
        ?.server.decodeRequest(history(text));
      const target = { model: 'm', stream: true, maxOutputTokens: 9 };
      const asked = request && JSON.stringify(format.client.encodeRequest(request.request, target).body);
      const isText = dialect === 'openai';
      expect(body.includes('[[[')).toBe(isSaid || isText);
      expect(asked?.includes('[[[')).toBe(isSaid || isText);
      const stream = encodeStream(format, call, [answer(text)]);
      const pieces = new SseParser()
        .push(stream)
        .map(({ data }) => /"partial_json":"(.*)"\}\}$/.exec(data)?.[1] ?? '');
      // What a client of messages joins and parses is an object in any case.
      expect(isTooDeep(JSON.parse(JSON.parse(`"${pieces.join('')}"`) || '{}'))).toBe(false);
      expect(stream.includes('[[[')).toBe(isSaid || dialect !== 'gemini');
    });
  },
);
