import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { queryObjects } from 'node:v8';
import { collect, type GenerationEvent } from '@sluice/canonical';
import { type ClientCodec, findClientCodec } from '@sluice/formats';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { askFor, record } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { lingerMs, UpstreamCall } from './call.ts';
import { UpstreamEngine } from './engine.ts';
import { upstreamOptions } from './options.ts';

const firstEventTimeoutMs = 120_000;
const idleTimeoutMs = 60_000;

let server: Server;
let answer: ServerResponse | undefined;
let engine: UpstreamEngine;
let readMessages: number;
let status: number;

/** The dialect's own codec, which also tells when a message has been read. */
function counted(codec: ClientCodec): ClientCodec {
  return {
    ...codec,
    createStreamDecoder(context) {
      const decoder = codec.createStreamDecoder(context);
      return {
        push(message) {
          readMessages += 1;
          return decoder.push(message);
        },
        end: () => decoder.end(),
      };
    },
  };
}

async function begin(dialect: string) {
  const codec = findClientCodec(dialect);
  if (!codec) throw new Error('there is no such dialect');
  const { port } = server.address() as AddressInfo;
  const options = { baseUrl: `http://127.0.0.1:${port}`, dialect, firstEventTimeoutMs, idleTimeoutMs };
  engine = new UpstreamEngine(upstreamOptions.parse(options), counted(codec), quietServices);
  const recording = record(engine, askFor('hi'));
  await expect.poll(() => answer).toBeDefined();
  return recording;
}

/** Sends these messages, waits until they are read, and then lets this much silence pass. */
async function say(messages: readonly object[], silenceMs: number): Promise<void> {
  const before = readMessages;
  for (const message of messages) answer?.write(`data: ${JSON.stringify(message)}\n\n`);
  await expect.poll(() => readMessages).toBe(before + messages.length);
  vi.advanceTimersByTime(silenceMs);
  // An expired limit is reported in a separate turn of the event loop.
  await new Promise(setImmediate);
}

const errorOf = (events: readonly GenerationEvent[]) => events.find((event) => event.type === 'error')?.error;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  readMessages = 0;
  status = 200;
  answer = undefined;
  server = createServer((_request, response) => {
    answer = response.writeHead(status, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  vi.useRealTimers();
  await engine.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const delta = (delta: object) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }] });
const call = (index: number, id: string | undefined, fragment: string) =>
  delta({
    tool_calls: [
      {
        index,
        ...(id && { id, type: 'function' }),
        function: { ...(id && { name: 'write' }), arguments: fragment },
      },
    ],
  });
const almost = idleTimeoutMs - 1000;

describe('the silence of an upstream', () => {
  it('is not that of a second call, which is emitted only when all calls are complete', async () => {
    const { events, done } = await begin('openai');
    await say([call(0, 'a', '{"file":1}')], almost);
    await say([call(1, 'b', '{"file":')], almost);
    await say([call(1, undefined, '2')], almost);
    await say([call(1, undefined, '}')], almost);
    expect(errorOf(events)).toBeUndefined();
    answer?.end(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })}\n\ndata: [DONE]\n\n`,
    );
    await done;
    expect(collect(events).content).toMatchObject([{ arguments: '{"file":1}' }, { arguments: '{"file":2}' }]);
  });

  it('is that of a server whose second call stops', async () => {
    const { events, done } = await begin('openai');
    await say([call(0, 'a', '{"file":1}'), call(1, 'b', '{"file":')], idleTimeoutMs + 1);
    await done;
    expect(errorOf(events)?.message).toMatch(/fell silent/);
  });

  it('after all that an answer has to say ends it well, though the server leaves the stream open', async () => {
    const { events, done } = await begin('openai');
    const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    await say([delta({ content: 'all' }), finish], almost);
    expect(events.at(-1)?.type).not.toBe('finish');
    vi.advanceTimersByTime(2000);
    await done;
    expect(collect(events)).toMatchObject({
      content: [{ type: 'text', text: 'all' }],
      finish: { reason: 'stop' },
    });
  });

  it('after the finish of generate content does, too', async () => {
    const { events, done } = await begin('gemini');
    const parts = [{ text: 'all' }];
    await say(
      [{ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }],
      idleTimeoutMs + 1,
    );
    await done;
    expect(collect(events)).toMatchObject({ content: [{ type: 'text', text: 'all' }] });
  });

  it('is not broken by pings', async () => {
    const { events, done } = await begin('anthropic');
    const message = { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 1 } };
    await say(
      [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } },
      ],
      almost,
    );
    await say([{ type: 'ping' }], almost);
    await done;
    expect(errorOf(events)?.message).toMatch(/fell silent/);
  });

  it('before the first content has the time of a first event, even if the answer was opened at once', async () => {
    const { events, done } = await begin('openai');
    await say([{ id: '', choices: [], prompt_filter_results: [] }, delta({ role: 'assistant' })], almost);
    vi.advanceTimersByTime(firstEventTimeoutMs - almost - 1000);
    await new Promise(setImmediate);
    expect(errorOf(events)).toBeUndefined();
    vi.advanceTimersByTime(2000);
    await done;
    expect(errorOf(events)?.message).toBe(
      `the upstream did not begin its answer for ${firstEventTimeoutMs} ms`,
    );
  });

  it('before the first content is broken by a server that shows that it continues', async () => {
    const { events } = await begin('openai');
    for (let round = 0; round < 4; round += 1) await say([delta({ content: '' })], almost);
    expect(errorOf(events)).toBeUndefined();
    await say([delta({ content: 'a' })], idleTimeoutMs + 1);
    expect(errorOf(events)?.message).toMatch(/fell silent/);
  });

  it('before the first content is told in full, if such a server stops', async () => {
    const { events, done } = await begin('openai');
    for (let round = 0; round < 3; round += 1) await say([delta({ content: '' })], almost);
    vi.advanceTimersByTime(idleTimeoutMs - almost + 1);
    await done;
    const [, awaitedMs] = /did not begin its answer for (\d+) ms/.exec(errorOf(events)?.message ?? '') ?? [];
    // Waiting for the messages takes time, too.
    expect(Number(awaitedMs)).toBeGreaterThanOrEqual(2 * almost + idleTimeoutMs);
    expect(Number(awaitedMs)).toBeLessThan(2 * almost + idleTimeoutMs + 1000);
  });

  it('in a refusal is not awaited as in an answer: its head has said what it is', async () => {
    status = 503;
    const { events } = await begin('openai');
    let waitedMs = 0;
    const wait = () => {
      waitedMs += 1000;
      vi.advanceTimersByTime(1000);
      return errorOf(events);
    };
    await expect.poll(wait).toMatchObject({ kind: 'unavailable' });
    expect(waitedMs).toBeLessThan(firstEventTimeoutMs);
  });

  it('after the end of an answer is tolerated for a second, and nothing of the call is left', async () => {
    const calls = () => queryObjects(UpstreamCall, { format: 'count' });
    const before = calls();
    const { done } = await begin('openai');
    if (!answer) throw new Error('nobody was asked');
    const closed = once(answer, 'close');
    answer.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n');
    await done;
    vi.advanceTimersByTime(lingerMs);
    await closed;
    expect(calls()).toBe(before);
  });

  it('after the end of an answer keeps no other call waiting', async () => {
    let { done } = await begin('openai');
    for (let ended = 0; ended < 3 * engine.slots; ended += 1) {
      answer?.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n');
      await done;
      const asked = once(server, 'request');
      ({ done } = record(engine, askFor('next')));
      await asked;
    }
  });
});
