import type { JsonObject, Message } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { decodeRequest } from './request.ts';

const call = (id: string) => ({ functionCall: { id, name: 'f' } });
const result = (id: string, output = 'done') => ({
  functionResponse: { id, name: 'f', response: { output } },
});
const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

/** What follows the calls, as the results' ids and the kinds of the other parts. */
function read(calls: JsonObject[], ...turn: JsonObject[]): string[] {
  const contents = [
    { role: 'user', parts: [{ text: 'Go' }] },
    { role: 'model', parts: calls },
    { role: 'user', parts: turn },
  ];
  const path = '/v1beta/models/m:generateContent';
  const wire = { path, headers: {}, query: {}, requestId: 'r', body: { contents } };
  const kinds = ({ content }: Message): string[] =>
    content.map((part) => (part.type === 'tool-result' ? part.toolCallId : part.type));
  return decodeRequest(wire).request.messages.slice(2).flatMap(kinds);
}

describe('results that a resumed session has twice', () => {
  test('are read once, with what follows them', () => {
    const turn = [result('a'), result('b'), image, { text: 'Mind.' }];
    expect(read([call('a'), call('b')], ...turn, ...turn)).toEqual(['a', 'b', 'media', 'text']);
    expect(read([call('a'), call('b')], ...turn, ...turn, ...turn)).toEqual(['a', 'b', 'media', 'text']);
  });

  test('are read where anything differs', () => {
    expect(read([call('a')], result('a'), result('a', 'failed'))).toEqual(['a', 'a']);
    expect(read([call('a')], result('a'), image, result('a'), { text: 'See.' }, image)).toEqual([
      'a',
      'media',
      'text',
      'media',
    ]);
  });

  test('are read for each of the calls that share their id', () => {
    expect(read([call('f'), call('f')], result('f'), result('f'))).toEqual(['f', 'f']);
    expect(read([call('f'), call('f')], result('f'), result('f'), result('f'))).toEqual(['f', 'f']);
  });

  test('are read as they are without ids or calls, and so is what is said twice besides', () => {
    const bare = { functionResponse: { name: 'f', response: { output: 'done' } } };
    expect(read([call('a')], bare, bare)).toHaveLength(2);
    expect(read([{ text: 'No call' }], result('a'), result('a'))).toEqual(['a', 'a']);
    expect(read([call('a')], result('a'), image, image)).toEqual(['a', 'media', 'media']);
  });
});
