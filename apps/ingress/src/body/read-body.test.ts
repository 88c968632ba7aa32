import { expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { PromptRoom } from '../guards/prompt-room.ts';
import { readBody } from './read-body.ts';

it('room is reserved for the values of a body, not for its bytes alone', () => {
  // A tenant may have 20,000 bytes, and one request as many.
  const room = new PromptRoom(100_000);
  const read = (body: unknown) => {
    const exchange = { requestId: 'r', caller: { tenant: 'acme' } } as Exchange;
    readBody(exchange, undefined, Buffer.from(JSON.stringify(body)), room);
    return exchange;
  };
  const dense = Array.from({ length: 150 }, () => 0);
  const first = read(dense);
  expect(() => read(dense)).toThrow(expect.objectContaining({ kind: 'saturated' }));
  room.give(first);
  expect(() => read([...dense, ...dense])).toThrow(expect.objectContaining({ kind: 'too-large' }));
  for (let times = 0; times < 20; times += 1) read('0'.repeat(300));
});
