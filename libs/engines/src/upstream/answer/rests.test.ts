import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { testCertificate } from '../../test-certificate.ts';
import { askFor, record, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { restMs, StreamRate } from './rests.ts';

describe('the rate of a stream', () => {
  /** The rate's verdicts after reads at these milliseconds, each with this many events. */
  const judge = (rate: StreamRate, times: readonly number[], events = 1) =>
    times.map((at) => {
      for (let index = 0; index < events; index += 1) rate.add(1);
      return rate.isFast(at);
    });
  const every = (gapMs: number, count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => from + index * gapMs);

  it('is known after the time of a rest, and not before', () => {
    expect(judge(new StreamRate(), every(1, 17))).toEqual([...Array(16).fill(false), true]);
  });

  it('is fast from 125 events a second on', () => {
    expect(judge(new StreamRate(), every(8, 20)).at(-1)).toBe(true);
    expect(judge(new StreamRate(), every(9, 20)).at(-1)).toBe(false);
  });

  it('counts what one rest brought together', () => {
    const rate = new StreamRate();
    expect(judge(rate, [0, 16, 32, 48], 2)).toEqual([false, true, true, true]);
    expect(judge(rate, [64, 80], 1)).toEqual([false, false]);
  });

  it('is not fast after a stall of ours, which brings many events at once', () => {
    const rate = new StreamRate();
    judge(rate, every(20, 10));
    expect(judge(rate, [280], 5)).toEqual([false]);
    expect(judge(rate, every(20, 10, 300))).not.toContain(true);
  });
});

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const silenceMs = restMs - 2;
const token = chunk({ content: 'a' });
const end = `${chunk({}, 'stop')}data: [DONE]\n\n`;

describe.each([
  ['TCP', 'http', (listener: RequestListener): Server => createServer(listener)],
  ['TLS', 'https', (listener: RequestListener): Server => createTlsServer(testCertificate, listener)],
])('a stream over %s', (_name, scheme, createListener) => {
  let server: Server;
  let engine: UpstreamEngine;
  let connections: number;
  let answers: ServerResponse[];
  const trusted = getCACertificates('default');

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    setDefaultCACertificates([testCertificate.cert]);
    connections = 0;
    answers = [];
    server = createListener((_request, response) => {
      answers.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.write(chunk({ role: 'assistant', content: '' }));
      if (answers.length > 1) response.end(`${chunk({ content: 'other' })}${end}`);
    });
    server.on('connection', () => {
      connections += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // Safe to cast: a server that listens on TCP has an address with a port.
    const { port } = server.address() as AddressInfo;
    const options = upstreamOptions.parse({
      baseUrl: `${scheme}://127.0.0.1:${port}/v1`,
      // A rest may be longer than the silence that a server is allowed.
      idleTimeoutMs: silenceMs,
    });
    engine = createUpstreamEngine(options, quietServices);
  });
  afterEach(async () => {
    vi.useRealTimers();
    setDefaultCACertificates(trusted);
    await engine.stop();
    server.close();
  });

  /** A stream of `count` tokens so far, one every `gapMs`. */
  async function begin(count: number, gapMs: number) {
    let said: () => void = () => undefined;
    const recording = record(engine, askFor('hi'), { onEvent: () => said() });
    const heard = async (text: string) => {
      while (textOf(recording.events) !== text) {
        await new Promise<void>((resolve) => {
          said = resolve;
        });
      }
    };
    await once(server, 'request');
    for (let index = 1; index <= count; index += 1) {
      answers[0]?.write(token);
      await heard('a'.repeat(index));
      if (index < count) vi.advanceTimersByTime(gapMs);
    }
    return { ...recording, heard, text: () => textOf(recording.events) };
  }

  it('that is fast is read again after a rest, and nothing of it is lost', async () => {
    const { events, text, heard, done } = await begin(5, restMs / 4);
    for (let round = 0; round < 3; round += 1) answers[0]?.write(token);
    // Sent later over another connection, and already here: what was sent before waits in the kernel.
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('other');
    expect(text()).toBe('aaaaa');
    vi.advanceTimersByTime(restMs);
    await heard('aaaaaaaa');
    answers[0]?.end(end);
    vi.advanceTimersByTime(restMs);
    await done;
    expect([text(), events.at(-1)?.type]).toEqual(['aaaaaaaa', 'finish']);
  });

  it('that is slow is read at once', async () => {
    const { text, done } = await begin(20, 13);
    answers[0]?.end(end);
    await done;
    expect(text()).toBe('a'.repeat(20));
  });

  it('that ends when it would have rested leaves its connection to the next', async () => {
    const { done } = await begin(4, restMs / 4);
    vi.advanceTimersByTime(restMs / 4);
    answers[0]?.end(`${token}${end}`);
    await done;
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('other');
    expect(connections).toBe(1);
  });

  it('that ends in what was read before it could rest leaves its connection to the next', async () => {
    const { done } = await begin(4, restMs / 4);
    vi.advanceTimersByTime(restMs / 4);
    // More than a TLS record holds: what one read of the socket brought is delivered in several pieces.
    answers[0]?.end(`${token.repeat(400)}${end}`);
    await done;
    vi.advanceTimersByTime(restMs);
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('other');
    expect(connections).toBe(1);
  });

  it('that rests can be aborted', async () => {
    const { controller, done } = await begin(5, restMs / 4);
    const left = answers[0] && once(answers[0], 'close');
    controller.abort();
    await done;
    await left;
    vi.advanceTimersByTime(restMs);
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('other');
  });
});
