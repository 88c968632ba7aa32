import type { GenerationEvent } from '@sluice/canonical';
import { createIngressMetrics, createLogger, type IngressMetrics, renderMetrics } from '@sluice/runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeExchange } from './close-exchange.ts';
import {
  type Exchange,
  noteAnotherModel,
  noteAttempts,
  noteError,
  noteEvents,
  noteUsage,
} from './exchange.ts';

let at: number;
let lines: Record<string, unknown>[];
let metrics: IngressMetrics;
let exchange: Exchange;

beforeEach(() => {
  at = 1_000;
  lines = [];
  metrics = createIngressMetrics();
  exchange = {
    requestId: 'r1',
    facts: { path: '/v1/chat/completions', headers: {}, query: {} },
    arrivedAt: at,
    format: 'openai',
    model: 'm',
  };
});

const services = () => ({
  metrics,
  logger: createLogger({
    name: 'test',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  }),
  monotonic: () => at,
});
const text = (value: string): GenerationEvent => ({ type: 'text-delta', block: 0, text: value });
const start: GenerationEvent = { type: 'start', id: 'r1', model: 'm', createdAt: 1 };
const usage = { inputTokens: 7, outputTokens: 3 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage };

/** What was handed to the client, and after how many milliseconds since the last. */
function note(afterMs: number, ...events: GenerationEvent[]): void {
  at += afterMs;
  noteEvents(exchange, events, services());
}

async function sampleOf(series: string): Promise<number> {
  const { body } = await renderMetrics(metrics.registry);
  const line = body.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

describe('an exchange', () => {
  it('counts the time to the first token, and the time between those that follow', async () => {
    note(20, start);
    note(10, text('a'));
    note(5, text('b'), text('c'));
    note(50, { type: 'block-annotation', block: 0, extensions: {} });
    note(15, text('d'), finish);
    expect(await sampleOf('sluice_time_to_first_token_seconds_count{format="openai",model="m"}')).toBe(1);
    expect(await sampleOf('sluice_time_to_first_token_seconds_sum{format="openai",model="m"}')).toBe(0.03);
    expect(await sampleOf('sluice_inter_token_latency_seconds_count{format="openai"}')).toBe(2);
    expect(await sampleOf('sluice_inter_token_latency_seconds_sum{format="openai"}')).toBe(0.07);
  });

  it('is logged once at its end, with times and tokens and none of its text', async () => {
    note(30, start, text('secret words'));
    note(10, text('more'), finish);
    exchange.usage = usage;
    closeExchange(exchange, 200, services());
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      ...{ requestId: 'r1', format: 'openai', model: 'm', status: 200, outcome: 'ok' },
      ...{ durationMs: 40, ttftMs: 30, inputTokens: 7, outputTokens: 3 },
    });
    expect(JSON.stringify(lines)).not.toContain('secret');
    expect(await sampleOf('sluice_requests_total{format="openai",outcome="ok"}')).toBe(1);
    expect(await sampleOf('sluice_tokens_total{model="m",direction="output"}')).toBe(3);
    expect(await sampleOf('sluice_time_per_output_token_seconds_sum{format="openai"}')).toBe(0.005);
    expect(await sampleOf('sluice_request_duration_seconds_sum{format="openai",outcome="ok"}')).toBe(0.04);
  });

  it('reports no time between tokens if there is only one', async () => {
    note(30, start, text('a'), finish);
    exchange.usage = { inputTokens: 7, outputTokens: 1 };
    closeExchange(exchange, 200, services());
    expect(await sampleOf('sluice_time_per_output_token_seconds_count{format="openai"}')).toBeNaN();
  });

  it('reports no times between the tokens of several answers, which come side by side', async () => {
    exchange.choices = 2;
    note(30, start, text('a'));
    note(1, text('b'));
    note(40, finish);
    exchange.usage = usage;
    closeExchange(exchange, 200, services());
    expect(await sampleOf('sluice_time_to_first_token_seconds_count{format="openai",model="m"}')).toBe(1);
    expect(await sampleOf('sluice_inter_token_latency_seconds_count{format="openai"}')).toBeNaN();
    expect(await sampleOf('sluice_time_per_output_token_seconds_count{format="openai"}')).toBeNaN();
  });

  it('reports the most attempts that one of its answers needed, and the last worker', () => {
    const tried = { attempts: 1, worker: undefined };
    noteAttempts(exchange, [undefined, { attempts: 3, worker: 'w1' }, { attempts: 2, worker: 'w2' }, tried]);
    closeExchange(exchange, 200, services());
    expect(lines[0]).toMatchObject({ attempts: 3, worker: 'w2' });
  });

  it('logs separately the tokens that have prices of their own, and the key that they belong to', async () => {
    const limits = { tenant: {}, key: {} };
    exchange.caller = { tenant: 'acme', keyId: 'key_1', weight: 1, limits, allows: () => true };
    const parts = { cacheReadTokens: 60, cacheWriteTokens: 20, reasoningTokens: 5 };
    exchange.usage = { inputTokens: 90, outputTokens: 9, ...parts };
    closeExchange(exchange, 200, services());
    expect(lines[0]).toMatchObject({ ...exchange.usage, tenant: 'acme', keyId: 'key_1' });
  });

  it('logs and counts what each model has cost, and logs the wait for the one that answers', async () => {
    Object.assign(exchange, { queueWaitMs: 900, claimedAt: at, worker: 'w1' });
    noteUsage(exchange, { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 });
    noteAnotherModel(exchange, 'm', 'other');
    noteUsage(exchange, { inputTokens: 11, outputTokens: 3, reasoningTokens: 1 });
    closeExchange(exchange, 200, services());
    expect(lines[0]).toMatchObject({
      ...{ model: 'other', askedModel: 'm', inputTokens: 21, outputTokens: 5 },
      ...{ cacheReadTokens: 4, reasoningTokens: 1 },
      byModel: [
        { model: 'm', inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 },
        { model: 'other', inputTokens: 11, outputTokens: 3, reasoningTokens: 1 },
      ],
    });
    for (const [model, input, output] of [
      ['m', 10, 2],
      ['other', 11, 3],
    ]) {
      expect(await sampleOf(`sluice_tokens_total{model="${model}",direction="input"}`)).toBe(input);
      expect(await sampleOf(`sluice_tokens_total{model="${model}",direction="output"}`)).toBe(output);
    }
    for (const name of ['queueWaitMs', 'worker']) expect(lines[0]).not.toHaveProperty(name);
    noteAnotherModel(exchange, 'm', 'm');
    closeExchange(exchange, 429, services());
    expect(lines[1]).toMatchObject({ model: 'm' });
    expect(lines[1]).not.toHaveProperty('askedModel');
  });

  it('counts the times of each model from its own tokens, and logs those of the one that answers', async () => {
    note(20, start, text('a'));
    note(5, text('b'));
    noteUsage(exchange, { inputTokens: 10, outputTokens: 2 });
    noteAnotherModel(exchange, 'm', 'other');
    note(1_000, start, text('a'));
    note(10, text('b'));
    note(10, text('c'), finish);
    noteUsage(exchange, { inputTokens: 10, outputTokens: 3 });
    closeExchange(exchange, 200, services());
    expect(lines[0]).toMatchObject({ model: 'other', ttftMs: 1_025 });
    const firstOf = (model: string) =>
      sampleOf(`sluice_time_to_first_token_seconds_sum{format="openai",model="${model}"}`);
    expect([await firstOf('m'), await firstOf('other')]).toEqual([0.02, 1.025]);
    expect(await sampleOf('sluice_inter_token_latency_seconds_sum{format="openai"}')).toBe(0.025);
    expect(await sampleOf('sluice_time_per_output_token_seconds_sum{format="openai"}')).toBe(0.01);
  });

  it('tells nothing of a model that has spent nothing', async () => {
    noteUsage(exchange, { inputTokens: 0, outputTokens: 0 });
    noteAnotherModel(exchange, 'm', 'other');
    noteUsage(exchange, usage);
    closeExchange(exchange, 200, services());
    expect(lines[0]).toMatchObject({ model: 'other', ...usage });
    expect(lines[0]).not.toHaveProperty('byModel');
    expect(await sampleOf('sluice_tokens_total{model="other",direction="input"}')).toBe(7);
  });

  it('names in the log the trace that its client is in', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    closeExchange({ ...exchange, facts: { ...exchange.facts, headers: { traceparent } } }, 200, services());
    expect(lines[0]).toMatchObject({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });
  });

  it.each([
    ['call_7f3a', 'call_7f3a'],
    ['x'.repeat(513), undefined],
    ['two words', undefined],
    ['one\nother line', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('logs the id that its client gave it, if it is one: %j', (id, logged) => {
    const headers = { 'x-client-request-id': id };
    closeExchange({ ...exchange, facts: { ...exchange.facts, headers } }, 200, services());
    expect(lines[0]?.clientRequestId).toBe(logged);
  });

  it('counts no token that nobody reported', async () => {
    exchange.usage = { inputTokens: 7 };
    closeExchange(exchange, 200, services());
    expect(await sampleOf('sluice_tokens_total{model="m",direction="input"}')).toBe(7);
    expect(await sampleOf('sluice_tokens_total{model="m",direction="output"}')).toBe(0);
    expect(lines[0]).not.toHaveProperty('ttftMs');
  });

  it('has the kind of its error as outcome, whatever came before; otherwise it tells whether it was cut', () => {
    note(1, start, text('a'), { type: 'error', error: { kind: 'upstream-failed', message: 'gone' } });
    closeExchange(exchange, 200, services());
    exchange = { requestId: 'r2', facts: exchange.facts, arrivedAt: at, format: 'openai' };
    closeExchange(exchange, 499, services());
    expect(lines.map(({ outcome }) => outcome)).toEqual(['upstream-failed', 'cut']);
  });

  it('logs what refused it, or what was lost, and counts refusals by that', async () => {
    noteError(exchange, { kind: 'rate-limited', refusedBy: 'request-rate' });
    closeExchange(exchange, 429, services());
    note(1, start, {
      type: 'error',
      error: { kind: 'unavailable', message: 'secret words', detail: 'worker-lost' },
    });
    closeExchange(exchange, 503, services());
    expect(lines).toMatchObject([
      { outcome: 'rate-limited', refusedBy: 'request-rate' },
      { outcome: 'unavailable', detail: 'worker-lost' },
    ]);
    expect(lines[1]).not.toHaveProperty('refusedBy');
    expect(JSON.stringify(lines)).not.toContain('secret');
    expect(await sampleOf('sluice_refusals_total{limit="request-rate"}')).toBe(1);
  });
});
