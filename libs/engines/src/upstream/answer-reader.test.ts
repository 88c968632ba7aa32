import { findClientCodec } from '@sluice/formats';
import { expect, it } from 'vitest';
import { createAnswerReader } from './answer-reader.ts';

const megabyte = 1024 * 1024;

/** Reads a stream that begins a call and then says this much of a second one, which waits for the first. */
function readSecondCall(megabytes: number): void {
  const codec = findClientCodec('openai');
  if (!codec) throw new Error('there is no such dialect');
  const head = { status: 200, header: () => undefined, headers: () => ({}) };
  const reader = createAnswerReader(codec, { id: 'a', createdAt: 0, model: 'm' }, head);
  const push = (call: object) =>
    reader.push(Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`));
  push({ index: 0, id: 'first', function: { name: 'f', arguments: '{' } });
  const second = { index: 1, id: 'second', function: { name: 'f', arguments: 'x'.repeat(megabyte) } };
  for (let count = 0; count < megabytes; count += 1) push(second);
}

it('a second call is kept while the first goes on, but not without limit', () => {
  readSecondCall(30);
  expect(() => readSecondCall(70)).toThrow('the stream says nothing in 67108864 bytes');
});
