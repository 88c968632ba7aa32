import { findClientCodec, type StreamParser } from '@sluice/formats';
import { expect, it } from 'vitest';
import { createAnswerReader } from './answer-reader.ts';

const megabyte = 1024 * 1024;
/** With room for the names beside it. */
const nearlyMegabyte = 'x'.repeat(megabyte - 100);

/** Begins to read a stream; returns what pushes the next delta of it. */
function readStream(): (delta: object) => void {
  const codec = findClientCodec('openai');
  if (!codec) throw new Error('there is no such dialect');
  const head = { status: 200, header: () => undefined, headers: () => ({}) };
  const reader = createAnswerReader(codec, { id: 'a', createdAt: 0, model: 'm' }, head);
  return (delta) => {
    reader.push(Buffer.from(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`));
  };
}

/** Reads a stream that begins a call and then says this much of a second one, which waits for the first. */
function readSecondCall(megabytes: number): void {
  const push = readStream();
  push({ tool_calls: [{ index: 0, id: 'first', function: { name: 'f', arguments: '{' } }] });
  const second = { index: 1, id: 'second', function: { name: 'f', arguments: 'x'.repeat(megabyte) } };
  for (let count = 0; count < megabytes; count += 1) push({ tool_calls: [second] });
}

it('a second call is kept while the first goes on, but not without limit', () => {
  readSecondCall(30);
  expect(() => readSecondCall(70)).toThrow('the stream says nothing in 67108864 bytes');
});

it.each([
  ['text', { content: 'x'.repeat(megabyte) }],
  ['thoughts', { reasoning_content: 'x'.repeat(megabyte) }],
  [
    'arguments',
    { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: 'x'.repeat(megabyte) } }] },
  ],
  ['a field of its own', { audio: { data: nearlyMegabyte } }],
  ['a part of a kind of its own', { content: [{ type: 'odd', data: nearlyMegabyte }] }],
])('an answer may be as long in a stream as in one piece, but not without limit: %s', (_what, delta) => {
  const push = readStream();
  for (let count = 0; count < 64; count += 1) push(delta);
  expect(() => push(delta)).toThrow("the upstream's answer exceeds 67108864 characters");
});

it('a dialect may stream in lines of JSON, although each begins as a single body does', () => {
  const codec = findClientCodec('openai');
  if (!codec) throw new Error('there is no such dialect');
  let rest = '';
  const lines: StreamParser = {
    push(chunk) {
      const whole = (rest + Buffer.from(chunk).toString()).split('\n');
      rest = whole.pop() ?? '';
      return whole.map((data) => ({ data }));
    },
    end: () => [],
  };
  const head = { status: 200, header: () => undefined, headers: () => ({}) };
  const context = { id: 'a', createdAt: 0, model: 'm' };
  const reader = createAnswerReader(
    { ...codec, beginsStream: () => true, createStreamParser: () => lines },
    context,
    head,
  );
  const say = (choice: object) => reader.push(Buffer.from(`${JSON.stringify({ choices: [choice] })}\n`));
  expect(say({ delta: { content: 'one' } }).at(-1)).toMatchObject({ type: 'text-delta', text: 'one' });
  expect(say({ delta: { content: 'two' } })).toMatchObject([{ type: 'text-delta', text: 'two' }]);
  say({ delta: {}, finish_reason: 'stop' });
  expect(reader.end().at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
});

it('a message of a stream may be as large as a part of an answer that passes on to the client', () => {
  const codec = findClientCodec('gemini');
  if (!codec) throw new Error('there is no such dialect');
  const head = { status: 200, header: () => undefined, headers: () => ({}) };
  const reader = createAnswerReader(codec, { id: 'a', createdAt: 0, model: 'm' }, head);
  const data = 'A'.repeat(30 * megabyte);
  const part = { inlineData: { mimeType: 'image/png', data } };
  const message = `data: ${JSON.stringify({ candidates: [{ content: { parts: [part] } }] })}\n\n`;
  const events = [message.slice(0, megabyte), message.slice(megabyte)].flatMap((piece) =>
    reader.push(Buffer.from(piece)),
  );
  expect(JSON.stringify(events).includes(data)).toBe(true);
});
