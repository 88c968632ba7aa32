import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createTcp, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, createHostClock } from './clock.ts';
import type { RunResult } from './measures/result.ts';
import { summarizeRun } from './measures/summary.ts';
import { createRandom } from './random.ts';
import { runScenario } from './run.ts';
import { parseScenario, type ScenarioInput } from './scenario/scenario.ts';
import { readScenarioFiles } from './scenario/scenario-files.ts';
import { listenAnywhere } from './test-address.ts';
import { createFakeUpstream, type UpstreamStats } from './upstream/server.ts';

const servers: Server[] = [];
const never = new AbortController().signal;

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function listen(server: Server): Promise<string> {
  servers.push(server);
  return listenAnywhere(server);
}

async function upstream(): Promise<{ target: string; stats: UpstreamStats }> {
  const { server, stats } = createFakeUpstream({ clock: createHostClock(), random: createRandom(1) });
  return { target: await listen(server), stats };
}

const open = (rate: number) => ({ kind: 'open', profile: { kind: 'constant', rate } });
const serve = (listener: RequestListener) => listen(createHttp(listener));

/** A run of so many requests by a few users, one after another. */
async function run(
  target: string,
  input: ScenarioInput,
  requests = 20,
  clock: Clock = createHostClock(),
): Promise<RunResult> {
  const load = { kind: 'closed' as const, users: 4, rampUpMs: '0' };
  const scenario = parseScenario({ target, requests, load, timeoutMs: '20s', ...input });
  return runScenario(scenario, { files: await readScenarioFiles(scenario), signal: never, clock });
}

const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const sse = { 'content-type': 'text/event-stream' };

describe('a run against the fake upstream', () => {
  it.each(['openai', 'anthropic', 'gemini'] as const)(
    'measures streams of %s and checks each token',
    async (format) => {
      const { target } = await upstream();
      const traffic = [{ format, model: 'paced-t1-n24-b3-stamp' }];
      const result = await run(target, { traffic, verify: 'tokens' });
      expect(result.errors).toEqual({});
      expect(result.totals).toMatchObject({ offered: 20, ok: 20, good: 20, tokens: 480 });
      expect(result.metrics.ttftFromSend.count).toBe(20);
      expect(result.metrics.interToken.count).toBe(20 * 23);
      expect(result.metrics.transit.count).toBe(480);
      expect(result.metrics.transit.min).toBeGreaterThanOrEqual(0);
      expect(result.metrics.timePerToken.count).toBe(20);
    },
  );

  it('measures single bodies of all formats, which have no first token', async () => {
    const { target } = await upstream();
    const formats = ['openai', 'anthropic', 'gemini'] as const;
    const traffic = formats.map((format) => ({ format, model: 'paced-n5', streamShare: 0 }));
    const result = await run(target, { traffic, verify: 'tokens' });
    expect(result.totals).toMatchObject({ ok: 20, tokens: 100 });
    expect(result.metrics.ttft.count).toBe(0);
    expect(result.metrics.endToEnd.count).toBeGreaterThanOrEqual(20);
  });

  it('keeps connections alive: as many as users', async () => {
    const { target } = await upstream();
    const result = await run(target, { traffic: [{ model: 'paced-n3' }] }, 60);
    expect(result.totals.ok).toBe(60);
    expect(result.client.connectionsOpened).toBeLessThanOrEqual(4);
    expect(result.metrics.connect.count).toBe(result.client.connectionsOpened);
  });

  it('asks for no more tokens than it was told', async () => {
    const { target } = await upstream();
    const result = await run(target, { traffic: [{ model: 'paced-n50', outputTokens: 'choice:7=1' }] });
    expect(result.totals.tokens).toBe(140);
  });

  it('tells nothing of the values of headers and queries', async () => {
    const { target } = await upstream();
    const headers = { 'x-key': 'secret' };
    const result = await run(`${target}/v1?key=secret`, { headers, traffic: [{ model: 'paced-n1' }] }, 4);
    expect(result.totals.ok).toBe(4);
    expect(result.scenario.headers).toEqual({ 'x-key': '…' });
    expect(JSON.stringify(result)).not.toContain('secret');
  });

  it('tells refusals from failures, with their class', async () => {
    const { target } = await upstream();
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 500 } };
    const refused = await run(target, { load, traffic: [{ model: 'paced-e429' }] });
    expect(refused.totals).toMatchObject({ ok: 0, refused: 20, failed: 0 });
    expect(refused.errors).toEqual({ 'http 429 rate_limit_error': 20 });
    const failed = await run(target, { traffic: [{ format: 'gemini', model: 'paced-e503' }] });
    expect(failed.totals).toMatchObject({ refused: 0, failed: 20 });
    expect(failed.errors).toEqual({ 'http 503 UNAVAILABLE': 20 });
  });

  it('counts cut streams as failures', async () => {
    const { target } = await upstream();
    const result = await run(target, { traffic: [{ model: 'paced-n9-x4' }] });
    expect(result.errors).toEqual({ 'cut stream': 20 });
    expect(result.meetsSlo).toBe(false);
  });

  it.each(['openai', 'anthropic', 'gemini'] as const)(
    'counts cut bodies of %s as failures',
    async (format) => {
      const { target, stats } = await upstream();
      const result = await run(target, { traffic: [{ format, model: 'paced-n9-x4', streamShare: 0 }] });
      expect(result.errors).toEqual({ 'connection: reset': 20 });
      expect(stats).toMatchObject({ finished: 0, tokens: 80 });
    },
  );

  it('leaves in the middle when told to, and the server notices', async () => {
    const { target, stats } = await upstream();
    const traffic = [{ model: 'paced-n1000-g1', abort: { share: 1, afterTokens: '3' } }];
    const result = await run(target, { traffic });
    expect(result.totals).toMatchObject({ aborted: 20, ok: 0, failed: 0 });
    await expect.poll(() => stats.abandoned).toBe(20);
  });

  it('counts nothing that came after a client left, not even in the same read', async () => {
    const { target } = await upstream();
    const traffic = [{ model: 'paced-n64-b64', abort: { share: 1, afterTokens: '3' } }];
    const { totals, metrics } = await run(target, { traffic }, 4);
    expect(totals).toMatchObject({ aborted: 4, tokens: 12 });
    expect(metrics.interToken.count).toBe(8);
  });

  it('does not judge a server by those of the leavers whom it answered before they left', async () => {
    const { target } = await upstream();
    const patient = { model: 'paced-n4', streamShare: 0 };
    const abort = { share: 1, afterMs: '10s' };
    const leaving = await run(target, { traffic: [{ ...patient, abort }] }, 8);
    expect(leaving.totals).toMatchObject({ offered: 8, ok: 8, aborted: 0, asked: 0, good: 0, tokens: 32 });
    expect(leaving.metrics.endToEnd.count).toBe(0);
  });

  it('keeps slow readers out of latencies, not out of the counts', async () => {
    const { target } = await upstream();
    const traffic = [{ model: 'paced-n20-g1', slow: { share: 1, bytesPerSecond: 200_000 } }];
    const result = await run(target, { traffic }, 8);
    expect(result.totals).toMatchObject({ ok: 8, slow: 8, tokens: 160 });
    expect(result.metrics.endToEnd.count).toBe(0);
  });

  it('blames the server neither for slow readers nor for leavers who get no answer in time', async () => {
    const { target } = await upstream();
    const paced = { model: 'paced-n1000-g20' };
    const slow = [{ ...paced, slow: { share: 1, bytesPerSecond: 100 } }];
    const leaving = [{ ...paced, abort: { share: 1, afterTokens: '900' } }];
    const late = { graceMs: '50', durationMs: '200' };
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 100 } };
    const slowly = await run(target, { load, ...late, traffic: slow }, 5);
    expect(slowly.totals).toMatchObject({ offered: 5, slow: 5, aborted: 5, failed: 0, asked: 0 });
    const left = await run(target, { load, ...late, traffic: leaving }, 5);
    expect(left.totals).toMatchObject({ offered: 5, slow: 0, aborted: 5, failed: 0, asked: 0 });
  });

  it('counts tokens as the server does, in streams and single bodies alike', async () => {
    const usage = { completion_tokens: 30 };
    const target = await serve((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        if (body.includes('"stream":true')) {
          response.writeHead(200, sse).write(chunk('Ten words are in here, and so are ten more'));
          response.end(`${chunk('.')}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
        } else response.end(JSON.stringify({ choices: [{ message: { content: 'Thirty.' } }], usage }));
      });
    });
    const result = await run(target, { traffic: [{ streamShare: 0.5 }] });
    expect(result.totals).toMatchObject({ ok: 20, tokens: 600 });
    expect(result.intervals.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(600);
  });

  it.each(['openai', 'gemini'] as const)(
    'spreads over its time what %s showed, not what it thought',
    async (format) => {
      const usage = { completion_tokens: 10_002, completion_tokens_details: { reasoning_tokens: 10_000 } };
      const usageMetadata = { candidatesTokenCount: 2, thoughtsTokenCount: 10_000 };
      const say = (text: string, thought: boolean) =>
        format === 'openai'
          ? { choices: [{ index: 0, delta: { [thought ? 'reasoning_content' : 'content']: text } }] }
          : { candidates: [{ content: { parts: [{ text, ...(thought && { thought }) }] } }] };
      const line = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
      const last =
        format === 'openai'
          ? `${line({ choices: [], usage })}data: [DONE]\n\n`
          : line({ candidates: [{ finishReason: 'STOP' }], usageMetadata });
      const measure = async (thoughts: string[]) => {
        const target = await serve(async (_request, response) => {
          response.writeHead(200, sse);
          for (const thought of thoughts) response.write(line(say(thought, true)));
          response.write(line(say('So', false)));
          await delay(20);
          response.end(line(say(' it is', false)) + last);
        });
        return run(target, { traffic: [{ format }] }, 4);
      };
      const silent = await measure([]);
      expect(silent.totals).toMatchObject({ ok: 4, tokens: 40_008 });
      // Of two tokens, the time between them.
      expect(silent.metrics.timePerToken.max).toBe(silent.metrics.interToken.max);
      const aloud = await measure(['Well', ' then']);
      expect(aloud.totals).toMatchObject({ ok: 4, tokens: 40_008 });
      expect(aloud.metrics.timePerToken.max * 100).toBeLessThan(aloud.metrics.interToken.max);
    },
  );

  it('tells of streams without content', async () => {
    const empty = await serve((_, response) => response.writeHead(200, sse).end('data: [DONE]\n\n'));
    const result = await run(empty, { slo: { ttftMs: '1h' } }, 3);
    expect(result.totals).toMatchObject({ ok: 3, good: 0 });
    expect(result.client.findings).toContain('3 streams ended well, but brought no content');
  });

  it('shares one run among processes, each arrival once', async () => {
    const { target, stats } = await upstream();
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 100 } };
    const scenario = parseScenario({
      target,
      requests: 41,
      processes: 2,
      load,
      traffic: [{ model: 'paced-n4' }],
    });
    const result = await runScenario(scenario, { files: await readScenarioFiles(scenario), signal: never });
    expect(result.totals).toMatchObject({ offered: 41, ok: 41 });
    expect(stats.requests).toBe(41);
    expect(result.client.processes).toHaveLength(2);
    expect(result.metrics.endToEnd.count).toBe(41);
  });

  it('counts as done what was done in its time, not what came after', async () => {
    const { target } = await upstream();
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 100 } };
    const traffic = [{ model: 'paced-t300-n3' }];
    const late = await run(target, { load, traffic, durationMs: '200' }, 1000);
    expect(late.totals.ok).toBeGreaterThan(0);
    expect(late.totals.ok).toBe(late.totals.offered);
    expect(late.rates).toMatchObject({ offered: late.totals.offered / 0.2, ok: 0, good: 0, tokens: 0 });
    // Of a number of requests, all count: to the last answer.
    const { rates, totals } = await run(target, { load, traffic }, 20);
    expect(totals.tokens).toBe(60);
    expect(rates.tokens).toBeCloseTo(3 * rates.ok, 6);
  });

  it('plays a warm-up that is not measured', async () => {
    const { target, stats } = await upstream();
    const load = {
      kind: 'open' as const,
      spacing: 'constant' as const,
      profile: { kind: 'constant' as const, rate: 100 },
    };
    const result = await run(
      target,
      { load, durationMs: '300', warmupMs: '200', traffic: [{ model: 'paced-n1' }] },
      1000,
    );
    expect(stats.requests).toBe(30);
    expect(result.totals.offered).toBe(10);
  });

  it('says so when nothing came that it could measure', async () => {
    const { target } = await upstream();
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 100 } };
    const result = await run(target, { load, durationMs: '1h', warmupMs: '59m' }, 2);
    expect(result.totals.offered).toBe(0);
    expect(result.client.findings).toContain(
      'no request was due in the measured part: there is nothing to judge',
    );
    expect(summarizeRun(result)).toMatch(/offered +0 requests\n/);
  });

  it('ends early and whole when interrupted', async () => {
    const { target } = await upstream();
    const stopping = new AbortController();
    const load = { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 50 } };
    const scenario = parseScenario({
      target,
      durationMs: '1h',
      load,
      traffic: [{ model: 'paced-n1000-g50' }],
    });
    const result = await runScenario(scenario, {
      files: await readScenarioFiles(scenario),
      signal: stopping.signal,
      onInterval: () => stopping.abort(),
    });
    const { offered } = result.totals;
    expect(offered).toBeGreaterThan(0);
    expect(result.totals).toMatchObject({ interrupted: offered, aborted: 0, asked: 0 });
    expect(result.isInterrupted).toBe(true);
    expect(result.client.findings).toContain(
      `interrupted: ${offered} requests were left unanswered; the objective asks nothing of them`,
    );
    // The second in which it ended is no whole one.
    expect(result.intervals.map((interval) => interval.isMeasured)).toEqual([true, false]);
  });
});

describe('a load that is too much for its client', () => {
  it('ends before the memory does, and says so', async () => {
    const target = await serve(() => {});
    const load = { kind: 'closed' as const, users: 50, rampUpMs: '0' };
    const plan = { load, graceMs: '0', durationMs: '1h', maxInFlight: 10 };
    const result = await run(target, plan, 1000);
    expect(result.totals).toMatchObject({ offered: 10, failed: 10 });
    expect(result.errors).toEqual({ unfinished: 10 });
    expect(result.client.isBottleneck).toBe(true);
    expect(result.client.findings).toContain(
      'the load ended early: 10 requests of a process were in flight, the most that it bears',
    );
  });

  it.each([{ rate: 1e7 }, { users: 1e9 }])('refuses %j', (amount) => {
    const load = 'users' in amount ? { kind: 'closed', ...amount } : open(amount.rate);
    expect(() => parseScenario({ load })).toThrow('Too big');
  });

  it('refuses prompts of a size that no text can have', () => {
    expect(() => parseScenario({ traffic: [{ prompt: { tokens: '100000000' } }] })).toThrow(
      'at most 1000000 words',
    );
  });
});

describe('how busy the client was', () => {
  it('is told of the seconds in which requests began, not of the wait for the last answer', async () => {
    const waited = Promise.withResolvers<void>();
    const target = await serve((_, response) => {
      // In the client's own process, so it is the client that is busy.
      for (const until = performance.now() + 400; performance.now() < until; );
      void waited.promise.then(() => response.end(JSON.stringify({ choices: [{ message: {} }] })));
    });
    const scenario = parseScenario({ target, requests: 1, load: open(10), traffic: [{ streamShare: 0 }] });
    const result = await runScenario(scenario, {
      files: await readScenarioFiles(scenario),
      signal: never,
      onInterval: ({ second }) => second === 3 && waited.resolve(),
    });
    // 400 ms of the first second, not of four.
    expect(result.client.processes[0]?.loopShare).toBeGreaterThan(0.25);
  });
});

describe('coordinated omission', () => {
  it('counts the wait of requests that could not be sent in time', async () => {
    // One connection and 30 ms each: 20 even arrivals within 100 ms queue up behind it.
    const { target } = await upstream();
    const load = {
      kind: 'open' as const,
      spacing: 'constant' as const,
      profile: { kind: 'constant' as const, rate: 200 },
    };
    const result = await run(target, { load, maxConnections: 1, traffic: [{ model: 'paced-t30-n1' }] });
    const { endToEnd, endToEndFromSend, sendDelay } = result.metrics;
    expect(endToEnd.count).toBe(20);
    expect(endToEnd.max).toBeGreaterThan(19 * 30 - 100 - 10);
    expect(endToEnd.max).toBeGreaterThan(4 * (endToEndFromSend.percentiles.p50 ?? 0));
    expect(sendDelay.max).toBeGreaterThan(300);
    expect(result.client.isBottleneck).toBe(true);
    expect(result.client.findings.join()).toContain('waited for one of the 1 connections');
  });

  it('keeps what an unpaced closed loop measured, and estimates beside it what a stall hid', async () => {
    const host = createHostClock();
    let stalledMs = 0;
    let answered = 0;
    const target = await serve((_, response) => {
      answered += 1;
      // For the client's clock the server takes ten seconds for this answer.
      if (answered === 50) stalledMs = 10_000;
      const answer = { choices: [{ message: { content: 'x' } }] };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
    const load = { kind: 'closed' as const, users: 1, rampUpMs: '0' };
    const clock = { now: () => host.now() + stalledMs };
    const result = await run(target, { load, traffic: [{ streamShare: 0 }] }, 100, clock);
    expect(result.metrics.endToEndFromSend.count).toBe(100);
    expect(result.metrics.endToEnd.count).toBe(100);
    const { correction } = result;
    expect(correction.by === 'expected-interval' && correction.estimate?.endToEnd.count).toBeGreaterThan(100);
  });

  it('tells what was due for a pace, but could not be sent', async () => {
    const target = await serve(() => {});
    const load = { kind: 'closed' as const, users: 1, paceMs: '100ms' };
    const scenario = parseScenario({ target, load, durationMs: '500ms', graceMs: '0' });
    const result = await runScenario(scenario, { files: await readScenarioFiles(scenario), signal: never });
    expect(result.totals).toMatchObject({ offered: 1, failed: 1 });
    expect(result.client.findings).toContain(
      '4 requests were due, but were not sent before the grace was over: no figure tells of them',
    );
  });

  it('gives each answer to a paced user its whole time, however late the user is', async () => {
    const host = createHostClock();
    // By the client's clock each answer takes six of the ten seconds that it may take, and requests are due at once.
    let elapsedMs = 0;
    let looks = 0;
    const clock = {
      now: () => {
        looks += 1;
        return host.now() + elapsedMs;
      },
    };
    const target = await serve(async (_, response) => {
      elapsedMs += 6_000;
      // While the only request is under way, the client looks at its clock to find those that took too long.
      const enough = looks + 3;
      while (looks < enough) await delay(1);
      const answer = { choices: [{ message: { content: 'x' } }] };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
    const load = { kind: 'closed' as const, users: 1, paceMs: '1ms' };
    const traffic = [{ streamShare: 0 }];
    const result = await run(target, { load, traffic, timeoutMs: '10s', durationMs: '1h' }, 3, clock);
    expect(result.errors).toEqual({});
    expect(result.metrics.endToEnd.max).toBeGreaterThan(17_000);
  });

  it('estimates nothing where nobody was answered well', async () => {
    const target = await serve((_, response) => response.writeHead(500).end());
    const load = { kind: 'closed' as const, users: 1, rampUpMs: '0' };
    const { correction } = await run(target, { load }, 3);
    expect(correction).toEqual({ by: 'expected-interval', intervalMs: 0 });
  });
});

describe('a run against servers that misbehave', () => {
  it('reads answers that come byte by byte', async () => {
    const body = `${chunk('a')}${chunk('b')}data: [DONE]\n\n`;
    const text = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-sluice-queue-wait-ms: 7\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const target = await listen(
      createTcp({ noDelay: true }, (socket) => {
        socket.on('data', async () => {
          for (const byte of text)
            await new Promise<void>((written) => socket.write(byte, () => setImmediate(written)));
        });
        socket.on('error', () => {});
      }),
    );
    const result = await run(target, {}, 8);
    expect(result.errors).toEqual({});
    expect(result.totals).toMatchObject({ ok: 8, tokens: 16 });
    expect(result.metrics.queueWait.percentiles.p50).toBeCloseTo(7, 1);
  });

  it('repeats a request whose idle connection was closed under it', async () => {
    const answer = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 14\r\n\r\ndata: [DONE]\n\n`;
    const target = await listen(
      createTcp((socket: Socket) => {
        let requests = 0;
        socket.on('data', () => {
          requests += 1;
          // The second request meets a reset, as if the server's idle time had just run out.
          if (requests === 1) socket.write(answer);
          else socket.resetAndDestroy();
        });
        socket.on('error', () => {});
      }),
    );
    const load = { kind: 'closed' as const, users: 1 };
    const result = await run(target, { load }, 6);
    expect(result.totals).toMatchObject({ ok: 6, failed: 0 });
    expect(result.client.requestsRepeated).toBe(5);
    expect(result.client.findings).toContain(
      '5 requests met a reset on a reused connection and were sent again: clients that do not repeat see failures',
    );
  });

  it('counts the time until a repeated request met its reset as the server’s own', async () => {
    const body = `${chunk('a')}data: [DONE]\n\n`;
    const answer = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const target = await listen(
      createTcp((socket: Socket) => {
        let requests = 0;
        socket.on('data', () => {
          requests += 1;
          if (requests === 1) socket.write(answer);
          else setTimeout(() => socket.resetAndDestroy(), 100);
        });
        socket.on('error', () => {});
      }),
    );
    const result = await run(target, { load: { kind: 'closed', users: 1 } }, 5);
    const { sendDelay, ttftFromSend, endToEndFromSend } = result.metrics;
    expect(result.client.requestsRepeated).toBe(4);
    expect(sendDelay).toMatchObject({ count: 5 });
    // A timer is early by less than a millisecond.
    expect(ttftFromSend.percentiles.p50).toBeGreaterThanOrEqual(99);
    expect(endToEndFromSend.percentiles.p50).toBeGreaterThanOrEqual(99);
    expect(result.client.findings.join()).not.toContain('after their instant');
  });

  it.each([
    ['a reset before the answer', 'connection: reset', (socket: Socket) => socket.destroy()],
    [
      'something that is not HTTP',
      'connection: protocol',
      (socket: Socket) => socket.end('220 hello\r\n\r\n'),
    ],
  ])('names %s', async (_, errorClass, answer) => {
    const target = await listen(
      createTcp((socket) => socket.on('data', () => answer(socket)).on('error', () => {})),
    );
    const result = await run(target, {}, 5);
    expect(result.errors).toEqual({ [errorClass]: 5 });
  });

  it('waits for a server that asks for it, and a little for one that is not there', async () => {
    let requests = 0;
    const target = await serve((_, response) => {
      requests += 1;
      response.writeHead(429, { 'retry-after': '60' }).end();
    });
    const load = { kind: 'closed' as const, users: 2, rampUpMs: '0' };
    const times = { load, durationMs: '250ms', graceMs: '1ms' };
    expect((await run(target, times, 1000)).totals).toMatchObject({ refused: 2 });
    expect(requests).toBe(2);
    const { totals } = await run('http://127.0.0.1:9', times, 1000);
    expect(totals.failed).toBeLessThanOrEqual(2 * 3);
  });

  it('names a server that is not there', async () => {
    const result = await run('http://127.0.0.1:9', {}, 3);
    expect(result.errors).toEqual({ 'connection: connect ECONNREFUSED': 3 });
  });

  it('gives up on a server that says nothing', async () => {
    const target = await serve(() => {});
    const result = await run(target, { timeoutMs: '80' }, 4);
    expect(result.errors).toEqual({ timeout: 4 });
  });

  it.each([
    { kind: 'open' as const, profile: { kind: 'constant' as const, rate: 500 } },
    { kind: 'closed' as const, users: 5 },
  ])('gives up on what is unfinished after the grace, in a load that is $kind', async (load) => {
    const target = await serve(() => {});
    const times = { durationMs: '300', graceMs: '50', timeoutMs: '1h' };
    const result = await run(target, { load, ...times }, 5);
    expect(result.errors).toEqual({ unfinished: 5 });
  });

  it('counts an error within a stream, a stream without its end and a body that is no stream', async () => {
    const inBand = await serve((_, response) =>
      response.writeHead(200, sse).end('data: {"error":{"type":"server_error"}}\n\n'),
    );
    expect((await run(inBand, {}, 3)).errors).toEqual({ 'stream error: server_error': 3 });
    const endless = await serve((_, response) => response.writeHead(200, sse).end(chunk('a')));
    expect((await run(endless, {}, 3)).errors).toEqual({ 'cut stream': 3 });
    const json = await serve((_, response) =>
      response.setHeader('content-type', 'application/json').end('{}'),
    );
    expect((await run(json, {}, 3)).errors).toEqual({ 'not a stream': 3 });
    expect((await run(json, { traffic: [{ streamShare: 0 }] }, 3)).errors).toEqual({ 'malformed answer': 3 });
  });

  it.each(['timeout', 'abort', 'insufficient_system_resource'])(
    'counts an answer that ends with %s as a failure, in a stream and in a single body',
    async (finish_reason) => {
      const target = await serve((_, response) => {
        const choice = { index: 0, message: { content: 'half' }, finish_reason };
        response.end(JSON.stringify({ choices: [choice] }));
      });
      const single = { traffic: [{ streamShare: 0 }] };
      expect((await run(target, single, 3)).errors).toEqual({ [`answer error: ${finish_reason}`]: 3 });
      const end = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason }] })}\n\n`;
      const streaming = await serve((_, response) =>
        response.writeHead(200, sse).end(`${chunk('half')}${end}data: [DONE]\n\n`),
      );
      const { errors, totals } = await run(streaming, {}, 3);
      expect(errors).toEqual({ [`stream error: ${finish_reason}`]: 3 });
      expect(totals).toMatchObject({ ok: 0, good: 0 });
    },
  );

  it.each([
    ['openai', { error: { type: 'server_error', code: 502 } }, 'server_error'],
    ['openai', { error: { type: 'server_error', code: '' } }, 'server_error'],
    ['openai', { object: 'error', type: 'InternalServerError', code: 500 }, 'InternalServerError'],
    ['anthropic', { type: 'error', error: { type: 'overloaded_error' } }, 'overloaded_error'],
    ['gemini', { error: { code: 503, status: 'UNAVAILABLE' } }, 'UNAVAILABLE'],
  ] as const)('names an error of %s that comes with status 200: %j', async (format, body, type) => {
    const target = await serve((_, response) => response.end(JSON.stringify(body)));
    const { errors } = await run(target, { traffic: [{ format, streamShare: 0 }] }, 3);
    expect(errors).toEqual({ [`answer error: ${type}`]: 3 });
  });

  const ends = {
    openai: `${chunk('tok0 ')}${chunk('tok1 ')}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
    anthropic: [
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'tok0 tok1 ' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join(''),
    gemini: `data: {"candidates":[{"content":{"parts":[{"text":"tok0 tok1 "}]},"finishReason":"STOP"}]}\n\n`,
  };
  it.each(['openai', 'anthropic', 'gemini'] as const)(
    'takes a stream of %s with its terminal event for whole, though its connection breaks then',
    async (format) => {
      const target = await serve((request, response) => {
        // Then a line that is cut, and no last chunk.
        response.writeHead(200, sse).write(`${ends[format]}data: [DO`, () => request.socket.destroy());
      });
      const traffic = [{ format }];
      const result = await run(target, { traffic, verify: 'tokens' }, 3);
      expect(result.errors).toEqual({});
      expect(result.totals).toMatchObject({ ok: 3, tokens: 6 });
      const wrong = await run(target, { traffic, expectText: '/dev/null' }, 3);
      expect(wrong.errors).toEqual({ 'wrong text: mismatch': 3 });
    },
  );

  it('takes an empty name of a coding for none', async () => {
    const target = await serve((_, response) => {
      response.writeHead(200, { ...sse, 'content-encoding': '' }).end(`${chunk('a')}data: [DONE]\n\n`);
    });
    expect((await run(target, {}, 3)).errors).toEqual({});
  });

  it.each([
    [0, 200, 'malformed answer'],
    [1, 200, 'not a stream'],
    [1, 500, 'http 500'],
  ])('gives up on a body that never ends: stream %i, status %i', async (streamShare, status, error) => {
    const piece = Buffer.alloc(1 << 20, '{');
    const target = await serve((_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.writeHead(status).on('drain', write);
      write();
    });
    expect((await run(target, { traffic: [{ streamShare }] }, 1)).errors).toEqual({ [error]: 1 });
  });

  it('names the coding of a body that nobody asked to be encoded', async () => {
    const stream = gzipSync(`${chunk('a')}data: [DONE]\n\n`);
    const target = await serve((_, response) =>
      response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(stream),
    );
    expect((await run(target, {}, 3)).errors).toEqual({ 'encoded body: gzip': 3 });
    const single = [{ streamShare: 0 }];
    expect((await run(target, { traffic: single }, 3)).errors).toEqual({ 'encoded body: gzip': 3 });
    const refused = await serve((_, response) =>
      response.writeHead(503, { 'content-encoding': 'gzip' }).end(gzipSync('{}')),
    );
    expect((await run(refused, {}, 3)).errors).toEqual({ 'http 503': 3 });
  });

  it.each(['1e400', '-7', '1e308', '"2"'])('takes %s for no count of tokens', async (count) => {
    const usage = `data: {"choices":[],"usage":{"completion_tokens":${count}}}\n\n`;
    const target = await serve((_, response) => {
      response.writeHead(200, sse).end(`${chunk('a')}${chunk('b')}${usage}data: [DONE]\n\n`);
    });
    expect((await run(target, {}, 3)).totals).toMatchObject({ ok: 3, tokens: 6 });
  });

  it('says on how few answers a tail rests', async () => {
    const target = await serve((_, response) =>
      response.writeHead(200, sse).end(`${chunk('a')}data: [DONE]\n\n`),
    );
    const findings = async (requests: number) => (await run(target, {}, requests)).client.findings.join();
    expect(await findings(1)).toContain('too few for a tail: of 1 answers p99 is the slowest one');
    expect(await findings(300)).toContain('of 300 answers p99 rests on the 4 slowest');
    expect(await findings(1000)).not.toContain('too few');
    const none = await serve((_, response) => response.writeHead(503).end());
    expect((await run(none, {}, 3)).client.findings.join()).not.toContain('too few');
  });

  it.each([{}, { 'content-type': 'application/json' }, sse])(
    'goes by what a body is, whatever its type: %j',
    async (type) => {
      const stream = await serve((_, response) =>
        response.writeHead(200, type).end(`\n${chunk('a')}data: [DONE]\n\n`),
      );
      expect((await run(stream, {}, 3)).totals).toMatchObject({ ok: 3, tokens: 3 });
      const json = await serve((_, response) => response.writeHead(200, type).end('\n{}'));
      expect((await run(json, {}, 3)).errors).toEqual({ 'not a stream': 3 });
    },
  );

  it.each([
    ['duplicate', ['tok0 ', 'tok1 ', 'tok1 ']],
    ['gap', ['tok0 ', 'tok2 ']],
    ['foreign', ['tok0 ', 'hello']],
  ])('sees a %s in the text', async (problem, texts) => {
    const body = `${texts.map(chunk).join('')}data: [DONE]\n\n`;
    const target = await serve((_, response) => response.writeHead(200, sse).end(body));
    expect((await run(target, {}, 3)).errors).toEqual({});
    expect((await run(target, { verify: 'tokens' }, 3)).errors).toEqual({ [`wrong text: ${problem}`]: 3 });
  });

  it.each(['\t', '\\x'])('calls an event malformed whose text %j is none in JSON', async (text) => {
    const target = await serve((_, response) => {
      // The second event looks like the first, which was good.
      const bad = chunk('b').replace('"b"', () => `"${text}"`);
      response.writeHead(200, sse).end(`${chunk('a')}${bad}data: [DONE]\n\n`);
    });
    const result = await run(target, { verify: 'repeat' }, 2);
    expect(result.errors).toEqual({ 'malformed event': 2 });
  });

  it('sees an answer that differs from the first to the same question', async () => {
    let answers = 0;
    const target = await serve((_, response) => {
      answers += 1;
      response.writeHead(200, sse).end(`${chunk(answers === 4 ? 'other' : 'same')}data: [DONE]\n\n`);
    });
    const traffic = [{ prompt: { template: 'always this' } }];
    const result = await run(target, { traffic, verify: 'repeat' }, 6);
    expect(result.errors).toEqual({ 'wrong text: mismatch': 1 });
    expect(result.client.findings.join()).not.toContain('could be compared');
    // Each time another question: nothing that could differ.
    const varied = await run(target, { traffic: [{ prompt: { template: '{index}' } }], verify: 'repeat' }, 6);
    expect(varied.errors).toEqual({});
    expect(varied.client.findings.join()).toContain('only 0 of 6 answers could be compared');
  });
});
