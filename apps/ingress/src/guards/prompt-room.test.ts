import { beforeEach, expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { PromptRoom } from './prompt-room.ts';

let room: PromptRoom;
beforeEach(() => {
  // Room for 1000 bytes.
  room = new PromptRoom(2_500);
});

const take = (tenant: string, bytes: number): Exchange => {
  const exchange = { requestId: 'r' } as Exchange;
  room.take(exchange, tenant, bytes);
  return exchange;
};
const saturated = expect.objectContaining({
  kind: 'saturated',
  options: { refusedBy: 'prompts', retryAfterMs: 1_000 },
});

it('is full for a tenant that holds as much as is left free, and has room for others', () => {
  take('greedy', 400);
  const last = take('greedy', 100);
  expect(() => take('greedy', 1)).toThrow(saturated);
  take('other', 250);
  expect(() => take('other', 1)).toThrow(saturated);
  room.give(last);
  take('other', 50);
});

it('still counts what a tenant holds after it has given back some', () => {
  const [first] = [take('greedy', 300), take('greedy', 200)];
  room.give(first);
  take('greedy', 200);
  expect(() => take('greedy', 101)).toThrow(saturated);
});

it('gets back what a request has reserved, and nothing from a request that reserved nothing', () => {
  for (let round = 0; round < 5; round += 1) {
    const exchange = take('a', 500);
    const late = { requestId: 'r' } as Exchange;
    expect(() => room.take(late, 'a', 500)).toThrow(saturated);
    room.give(late);
    expect(() => take('a', 500)).toThrow(saturated);
    room.give(exchange);
  }
});

it('refuses for good a prompt for which there can never be room', () => {
  take('a', 500);
  expect(() => take('b', 501)).toThrow(expect.objectContaining({ kind: 'too-large', options: {} }));
});
