import type { InferenceRequest } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { placed, placeOf } from './places.ts';

const many = 12;
const text = (where: string) => placed({ type: 'text' as const, text: where }, where);
const texts = (where: string) => Array.from({ length: many }, (_, at) => text(`${where}.${at}`));
const result = (where: string) =>
  placed({ type: 'tool-result' as const, callId: 'c', content: texts(where) }, where);

// Only the messages and tools of a request are looked at.
const request = {
  messages: Array.from({ length: many }, (_, at) => ({
    role: 'user',
    content: [...texts(`m${at}`), result(`r${at}`), { type: 'text', text: 'of nobody' }],
  })),
  tools: Array.from({ length: many }, (_, at) => placed({ type: 'function', name: 'f' }, `t${at}`)),
} as unknown as InferenceRequest;

test.each([
  ['tools[0]', 't0'],
  ['tools[11]', 't11'],
  ['messages[0].content[1]', 'm0.1'],
  ['messages[11].content[10]', 'm11.10'],
  ['messages[3].content[2].source', 'm3.2'],
  ['messages[10].content[12]', 'r10'],
  ['messages[10].content[12].isError', 'r10'],
  ['messages[10].content[12].content[11]', 'r10.11'],
  ['messages[10].content[12].content[0].source', 'r10.0'],
  // A text has no parts, so the text is meant.
  ['messages[3].content[2].content[0]', 'm3.2'],
])('%s of a request is where its client put it', (param, place) => {
  expect(placeOf(param, request)).toBe(place);
});

test.each([
  'tools',
  'tools[12]',
  'tools[0].name',
  'odd.tools[0]',
  'tools[x]',
  'messages[12].content[0]',
  'messages[0].content[14]',
  'messages[0].content[13]',
  'messages[0].content[12].content[12]',
  'odd.messages[0].content[0]',
  'messages[0]',
  '',
])('nobody remembers where %s was', (param) => {
  expect(placeOf(param, request)).toBeUndefined();
});

test('a request without tools has no place for any', () => {
  const { tools: _tools, ...bare } = request;
  expect(placeOf('tools[0]', bare)).toBeUndefined();
  expect(placeOf('messages[1].content[1]', bare)).toBe('m1.1');
});
