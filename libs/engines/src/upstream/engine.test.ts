import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { collect, findGrammarError, type InferenceRequest, type Reasoning } from '@sluice/canonical';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineServices } from '../engine.ts';
import { referenceText } from '../simulated/reference.ts';
import { askFor, record, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from './engine.ts';
import { upstreamOptions } from './options.ts';
import { ChatServer } from './test-chat-server.ts';

const credential = 'sk-operator-secret';
const dropped: [string, string][] = [];
const readiness: [boolean, string | undefined][] = [];
const services: EngineServices = {
  ...quietServices,
  onExtensionsDropped: (from, to) => void dropped.push([from, to]),
  onReadiness: (isReady, why) => void readiness.push([isReady, why]),
};

let server: ChatServer;
const engines: UpstreamEngine[] = [];

function createEngine(options: Record<string, unknown> = {}): UpstreamEngine {
  const parsed = upstreamOptions.parse({ baseUrl: server.baseUrl, credential, ...options });
  const engine = createUpstreamEngine(parsed, services);
  engines.push(engine);
  return engine;
}

beforeEach(async () => {
  readiness.length = 0;
  server = await ChatServer.open();
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  await server.close();
});

const sse = { 'content-type': 'text/event-stream' };
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const complete = (text: string) =>
  `${chunk({ role: 'assistant', content: text })}${chunk({}, 'stop')}data: [DONE]\n\n`;

const single = (content: string) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
});

function answerWith(status: number, body: unknown, headers: Record<string, string> = {}): void {
  server.answer = (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

async function failureOf(engine: UpstreamEngine, request: InferenceRequest = askFor('hi')) {
  const events = await runOf(engine, request);
  expect(findGrammarError(events)).toBeUndefined();
  const last = events.at(-1);
  if (last?.type !== 'error') throw new Error('the generation did not fail');
  expect(JSON.stringify(last)).not.toContain(credential);
  return { ...last.error, usage: last.usage, said: textOf(events) };
}

describe('a request to an upstream', () => {
  it('carries the credential, the model of the backend and the configured headers', async () => {
    const engine = createEngine({
      headers: { 'X-Team': 'blue', 'User-Agent': 'ours', Host: 'models.example' },
    });
    await runOf(engine, askFor('[[sim tokens=1]]'), { backendModel: 'llama-3.1', maxOutputTokens: 50 });
    expect(server.seen[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${credential}`,
        'x-team': 'blue',
        'user-agent': 'ours',
        host: 'models.example',
        'accept-encoding': 'identity',
      },
      body: { model: 'llama-3.1', stream: true },
    });
  });

  it('carries ids by which it can be found in the server’s records', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const trace = { traceparent, tracestate: 'vendor=1' };
    await runOf(createEngine(), askFor('[[sim tokens=1]]'), { callId: 'r1-2', trace });
    expect(server.seen[0]?.headers).toMatchObject({ 'x-request-id': 'r1-2', ...trace });
    await runOf(createEngine(), askFor('[[sim tokens=1]]'), {});
    expect(server.seen[1]?.headers).not.toHaveProperty('traceparent');
    expect(server.seen[1]?.headers).not.toHaveProperty('x-request-id');
    const engine = createEngine({ headers: { 'X-Request-Id': 'always' } });
    await runOf(engine, askFor('[[sim tokens=1]]'), { callId: 'r1-3' });
    expect(server.seen[2]?.headers['x-request-id']).toBe('always');
  });

  it('keeps the path and the query of the base address', async () => {
    const engine = createEngine({
      baseUrl: `${server.baseUrl.replace('/v1', '/deployments/x/')}?api-version=3`,
    });
    await runOf(engine, askFor('[[sim tokens=1]]'));
    expect(server.seen[0]?.path).toBe('/deployments/x/chat/completions?api-version=3');
  });

  it('reports the extensions that its dialect cannot express', async () => {
    dropped.length = 0;
    const request = askFor('[[sim tokens=1]]', { extensions: { gemini: { safetySettings: [] } } });
    await runOf(createEngine(), request);
    expect(dropped).toEqual([['gemini', 'openai']]);
  });

  it('is sent again if the kept connection was just being closed', async () => {
    const engine = createEngine();
    // A single body ends together with its answer, so its connection is free at once.
    answerWith(200, single('first'));
    await runOf(engine, askFor('hi'));
    let isFirst = true;
    server.answer = (response) => {
      if (isFirst) response.socket?.end();
      else response.writeHead(200, sse).end(complete('again'));
      isFirst = false;
    };
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('again');
    expect(server.seen).toHaveLength(3);
  });

  it('is not sent again if a fresh connection breaks', async () => {
    server.answer = (response) => response.socket?.destroy();
    expect(await failureOf(createEngine())).toMatchObject({
      ...{ kind: 'unavailable', retryAfterMs: 1000 },
      usage: { inputTokens: 0, outputTokens: 0 },
    });
    expect(server.seen).toHaveLength(1);
  });
});

describe('the options of an upstream', () => {
  it('hold nothing that is not allowed in a header, and the complaint does not repeat it', () => {
    const headers = { 'x a': 'b', 'x-b': 'line\nbreak', 'Content-Length': '7' };
    const wrong = { baseUrl: 'https://m.example/v1', credential: 'sk-\u200b1', headers };
    const { error } = upstreamOptions.safeParse(wrong);
    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual([
      'credential',
      'headers.x a',
      'headers.x-b',
      'headers.Content-Length',
    ]);
    expect(error?.message).not.toMatch(/sk-|line|break/);
  });

  it('hold no password in the address, since it would never be sent', () => {
    const { error } = upstreamOptions.safeParse({ baseUrl: 'https://us:hidden@m.example/v1' });
    expect(error?.issues).toMatchObject([{ path: ['baseUrl'], message: expect.stringMatching(/password/) }]);
    expect(error?.message).not.toContain('hidden');
  });
});

describe('the dialect of an upstream', () => {
  it('may be messages', async () => {
    const events: [string, object][] = [
      [
        'message_start',
        {
          message: {
            id: 'm',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 5, output_tokens: 1 },
          },
        },
      ],
      ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
      ['ping', {}],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'salut' } }],
      ['content_block_stop', { index: 0 }],
      [
        'message_delta',
        { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      ],
      ['message_stop', {}],
    ];
    const text = events
      .map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
      .join('');
    server.answer = (response) => response.writeHead(200, sse).end(text);
    const answer = collect(
      await runOf(createEngine({ dialect: 'anthropic', baseUrl: root() }), askFor('hi')),
    );
    expect(answer).toMatchObject({
      content: [{ text: 'salut' }],
      finish: { reason: 'stop', usage: { outputTokens: 2 } },
    });
    expect(server.seen[0]).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': credential } });
    expect(server.seen[0]?.body.max_tokens).toBeGreaterThan(0);
  });

  it('may be generate content', async () => {
    const part = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'hei' }] }, finishReason: 'STOP', index: 0 }],
    };
    const usage = { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 } };
    server.answer = (response) =>
      response.writeHead(200, sse).end(`data: ${JSON.stringify({ ...part, ...usage })}\r\n\r\n`);
    const engine = createEngine({ dialect: 'gemini', baseUrl: root() });
    const answer = collect(await runOf(engine, askFor('hi'), { backendModel: 'tiny' }));
    expect(answer).toMatchObject({
      content: [{ text: 'hei' }],
      finish: { reason: 'stop', usage: { inputTokens: 3 } },
    });
    expect(server.seen[0]?.path).toBe('/v1beta/models/tiny:streamGenerateContent?alt=sse');
    expect(server.seen[0]?.headers['x-goog-api-key']).toBe(credential);
  });

  const root = () => server.baseUrl.replace('/v1', '');
});

describe('the answer of an upstream', () => {
  it('may come as one JSON body', async () => {
    answerWith(200, single('whole'));
    const events = await runOf(createEngine(), askFor('hi'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events)).toMatchObject({
      content: [{ text: 'whole' }],
      finish: { usage: { inputTokens: 3, outputTokens: 1 } },
    });
  });

  it('may come as one JSON body in pieces, while others come', async () => {
    const engine = createEngine();
    const [first = '', rest = ''] = JSON.stringify(single('in two pieces')).split(/(?<=two)/);
    const held: ServerResponse[] = [];
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (held.push(response) === 1) return;
      // Everything that was begun before has been read when this answer is complete.
      held[0]?.write(first, () => response.end(JSON.stringify(single('in one'))));
    };
    const slow = runOf(engine, askFor('hi'));
    await expect.poll(() => held).toHaveLength(1);
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('in one');
    held[0]?.end(rest);
    expect(textOf(await slow)).toBe('in two pieces');
  });

  it('may be split anywhere', async () => {
    const bytes = Buffer.from(complete('grüße 🙂'));
    server.answer = async (response) => {
      response.writeHead(200, sse);
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      response.end();
    };
    expect(textOf(await runOf(createEngine(), askFor('hi')))).toBe('grüße 🙂');
  });

  it.each([{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, sse])(
    'is a stream or a body by its beginning, whatever its type: %j',
    async (type) => {
      for (const answer of [complete('plain'), JSON.stringify(single('plain'))]) {
        server.answer = (response) => {
          response.writeHead(200, type).write('\n');
          response.write(answer.slice(0, 1), () => response.end(answer.slice(1)));
        };
        expect(textOf(await runOf(createEngine(), askFor('hi')))).toBe('plain');
      }
    },
  );

  it('is the error in its body, even if its head announces a stream', async () => {
    answerWith(200, { error: { message: 'busy', code: 429 } }, sse);
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'rate-limited', message: 'busy' });
  });

  it('leaves its connection to the next call', async () => {
    const engine = createEngine();
    for (let round = 0; round < 8; round += 1) await runOf(engine, askFor('[[sim tokens=3 gap=0]]'));
    // An answer is complete a moment before its body ends, so two connections alternate.
    expect(server.sockets.size).toBeLessThanOrEqual(2);
  });

  it('fails the generation if it is cut, after what was said before', async () => {
    server.answer = (response) => {
      response
        .writeHead(200, sse)
        .write(chunk({ role: 'assistant', content: 'half' }), () => response.socket?.destroy());
    };
    // What it has cost is not known, and not nothing.
    const failure = { kind: 'upstream-failed', said: 'half', usage: undefined };
    expect(await failureOf(createEngine())).toMatchObject(failure);
  });

  it('fails the generation if it ends cleanly but without a finish', async () => {
    server.answer = (response) =>
      response.writeHead(200, sse).end(chunk({ role: 'assistant', content: 'half' }));
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'upstream-failed', said: 'half' });
  });

  it('fails the generation if it is not JSON, or compressed', async () => {
    answerWith(200, '<html>');
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'upstream-failed' });
    answerWith(200, '{}', { 'content-encoding': 'br' });
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'upstream-failed' });
  });

  it.each(['identity', 'Identity', 'UTF-8', 'none', ''])(
    'is read if its coding is %j, which changes nothing',
    async (coding) => {
      answerWith(200, single('plain'), { 'content-encoding': coding });
      expect(textOf(await runOf(createEngine(), askFor('hi')))).toBe('plain');
    },
  );

  it('may begin with a byte order mark', async () => {
    for (const answer of [complete('plain'), JSON.stringify(single('plain'))]) {
      server.answer = (response) => {
        const bytes = Buffer.from(`\ufeff${answer}`);
        response.writeHead(200).write(bytes.subarray(0, 1), () => response.end(bytes.subarray(1)));
      };
      expect(textOf(await runOf(createEngine(), askFor('hi')))).toBe('plain');
    }
    answerWith(429, `\ufeff${JSON.stringify({ error: { message: 'busy' } })}`);
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'rate-limited', message: 'busy' });
  });

  it('fails only its own generation if it is nested deeper than the stack', async () => {
    const deep = `{"odd":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    for (const answer of [
      `data: {"odd":${deep},"choices":[{"delta":{"content":"a"}}]}\n\n${chunk({}, 'stop')}`,
      `${chunk({ content: 'a' })}data: {"choices":[{"delta":${deep}}]}\n\n`,
      `{"choices":[{"message":${deep},"finish_reason":"stop"}]}`,
    ]) {
      answerWith(200, answer);
      const events = await runOf(createEngine(), askFor('hi'));
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream-failed' } });
      expect(() => JSON.stringify(events)).not.toThrow();
    }
    answerWith(400, deep);
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'invalid-request' });
  });
});

describe('the time of an upstream', () => {
  const hang = (before: (response: ServerResponse) => void) => {
    let closed: Promise<unknown> | undefined;
    server.answer = (response) => {
      closed = once(response, 'close');
      before(response);
    };
    return () => closed;
  };

  it('is up if no event came, and the connection is closed', async () => {
    const closed = hang(() => {});
    expect(await failureOf(createEngine({ firstEventTimeoutMs: 20 }))).toMatchObject({
      kind: 'upstream-failed',
      message: expect.stringContaining('did not begin'),
    });
    await closed();
  });

  it('is not prolonged by comments', async () => {
    let timer: NodeJS.Timeout | undefined;
    const closed = hang((response) => {
      response.writeHead(200, sse).flushHeaders();
      timer = setInterval(() => response.write(': still here\n\n'), 2);
    });
    expect(await failureOf(createEngine({ firstEventTimeoutMs: 40 }))).toMatchObject({
      kind: 'upstream-failed',
    });
    await closed();
    clearInterval(timer);
  });

  it('is up if an answer falls silent', async () => {
    const closed = hang((response) =>
      response.writeHead(200, sse).write(chunk({ role: 'assistant', content: 'half' })),
    );
    expect(await failureOf(createEngine({ idleTimeoutMs: 20 }))).toMatchObject({
      message: expect.stringContaining('fell silent'),
      said: 'half',
    });
    await closed();
  });

  it('goes on if the silence was caused by our own process', async () => {
    let answer: ServerResponse | undefined;
    server.answer = (response) => {
      answer = response.writeHead(200, sse);
      response.write(chunk({ role: 'assistant', content: 'half' }));
    };
    const standStill = () => {
      const end = performance.now() + 200;
      while (performance.now() < end);
    };
    const { events, done } = record(createEngine({ idleTimeoutMs: 100 }), askFor('hi'), {
      onEvent: (seen) => {
        if (textOf(seen) !== 'half' || !answer) return;
        // Written in this turn, which then takes long. Timers come next, and the socket after them.
        answer.end(complete('and half'));
        setImmediate(standStill);
      },
    });
    await done;
    expect(textOf(events)).toBe('halfand half');
  });

  it('ends with an abort in the middle of one read’s events', async () => {
    server.answer = (response) =>
      response.writeHead(200, sse).end(`${chunk({ content: 'a' })}${complete('b')}`);
    const { events, done } = record(createEngine(), askFor('hi'), {
      onEvent: (seen, controller) => textOf(seen) === 'a' && controller.abort(),
    });
    await done;
    expect(events).toMatchObject([{ type: 'start' }, { type: 'text-delta', text: 'a' }]);
  });

  it('ends with an abort: the connection closes at once', async () => {
    const closed = hang((response) =>
      response.writeHead(200, sse).write(chunk({ role: 'assistant', content: 'half' })),
    );
    const { done } = record(createEngine(), askFor('hi'), {
      onEvent: (events, controller) => textOf(events) === 'half' && controller.abort(),
    });
    await done;
    await closed();
  });
});

describe('a failure of an upstream', () => {
  const body = (message: string, type = 'x') => ({
    error: { message, type, code: null, param: 'messages[3]' },
  });

  it.each([
    [401, 'upstream-failed', false],
    [403, 'upstream-failed', false],
    [404, 'upstream-failed', false],
    [402, 'upstream-failed', false],
    [405, 'upstream-failed', false],
    [500, 'upstream-failed', undefined],
    [502, 'upstream-failed', undefined],
  ])(
    'with status %i is reported as the gateway’s, without its own words',
    async (status, kind, retryable) => {
      answerWith(status, body(`wrong key ${credential} for account 42`));
      const failure = await failureOf(createEngine());
      expect(failure.kind).toBe(kind);
      // What only the operator can fix will be the same next time.
      expect(failure.retryable).toBe(retryable);
      expect(failure).not.toHaveProperty('extensions');
      if (status < 500) expect(failure.message).not.toContain('account 42');
    },
  );

  it('that blames the request is reported in the upstream’s words', async () => {
    answerWith(400, body(`temperature must be below 2, ${credential}`, 'invalid_request_error'));
    expect(await failureOf(createEngine())).toMatchObject({
      kind: 'invalid-request',
      message: 'temperature must be below 2, [credential]',
      extensions: { openai: { param: 'messages[3]' } },
    });
  });

  it('reveals no key of a header or of the address, nor the beginning of one, nor whose account it is', async () => {
    const [inHeader, inQuery] = ['azure-0123456789-abcdef', 'AIza0123456789abcdef'];
    const engine = createEngine({
      baseUrl: `${server.baseUrl}?key=${inQuery}&api-version=2024-10-21`,
      headers: { 'api-key': `Key ${inHeader}`, 'x-team': 'blue' },
    });
    answerWith(400, body(`blue ${inHeader} and ${inQuery} of org-AbCdEfGh1234, project_number:42`));
    expect(await failureOf(engine)).toMatchObject({
      message: 'blue [credential] and [credential] of [account], [account]',
    });
    answerWith(429, body('Your account org-446a70bb2cc542e3 / proj-a418892b55d0 <ak-f817m9q3k3wi> is slow'));
    expect((await failureOf(engine)).message).toBe('Your account [account] / [account] <[account]> is slow');
    const claude = 'ef36bf5a-434a-4c52-b7a0-ba958aef9dfd';
    answerWith(
      429,
      body(`the limit of 9 tokens (org: ${claude}, model: m), of your organization (${claude})`),
    );
    expect((await failureOf(engine)).message).toBe(
      'the limit of 9 tokens (org: [account], model: m), of your organization ([account])',
    );
  });

  it.each(['openai', 'anthropic', 'gemini'] as const)(
    'reveals no key inside of which the words of a server of %s are cut',
    async (dialect) => {
      const key = 'operator-0123456789';
      const engine = createEngine({ dialect, credential: key });
      answerWith(400, body(`${'x'.repeat(490)}${key}`));
      expect((await failureOf(engine)).message).toBe(`${'x'.repeat(490)}[credentia`);
    },
  );

  it.each(['x', 'none', 'EMPTY'])(
    'keeps its words if the credential %j is no real one',
    async (credential) => {
      const words = 'This model has a maximum context length of 8192 tokens; none may be EMPTY';
      answerWith(400, body(words, 'invalid_request_error'));
      expect((await failureOf(createEngine({ credential }))).message).toContain(words);
    },
  );

  it('for lack of capacity passes on the time to wait', async () => {
    answerWith(429, body('slow down', 'rate_limit_error'), { 'retry-after': '7' });
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'rate-limited', retryAfterMs: 7000 });
  });

  it('is known from its head, even if the rest of it does not come', async () => {
    const rest = { 'content-type': 'application/json', 'content-length': '1000', 'retry-after': '7' };
    for (const words of ['', '{"error":{"message":"slow do', JSON.stringify(body('slow down'))]) {
      server.answer = (response) => {
        response.writeHead(429, rest).flushHeaders();
        response.write(words || ' ', () => response.socket?.destroy());
      };
      expect(await failureOf(createEngine())).toMatchObject({ kind: 'rate-limited', retryAfterMs: 7000 });
    }
    expect((await failureOf(createEngine())).message).toBe('slow down');
  });

  it('may have a body of any size and kind', async () => {
    answerWith(503, 'x'.repeat(1_000_000), { 'content-type': 'text/html' });
    const failure = await failureOf(createEngine());
    expect(failure.kind).toBe('unavailable');
    expect(failure.message.length).toBeLessThanOrEqual(500);
  });

  it('is read to its end although it repeats a long request', async () => {
    // FastAPI and what is built on it: vLLM, SGLang.
    const complaint = { input: 'x'.repeat(5_000_000), loc: ['body', 'top_k'], msg: 'no such field' };
    answerWith(422, { detail: [complaint] });
    expect(await failureOf(createEngine())).toMatchObject({
      kind: 'invalid-request',
      message: 'top_k: no such field',
    });
  });

  it('is not reported in a page for people, nor in bytes that are no text', async () => {
    const silence = 'the upstream answered with status 413';
    answerWith(413, '\r\n<html><center>nginx at lb-3.internal</center>', { 'content-type': 'text/html' });
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'too-large', message: silence });
    const zipped = gzipSync(JSON.stringify(body('x')));
    server.answer = (response) => response.writeHead(413, { 'content-encoding': 'gzip' }).end(zipped);
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'too-large', message: silence });
    answerWith(413, 'Payload Too Large', { 'content-type': 'text/plain' });
    expect(await failureOf(createEngine())).toMatchObject({ message: 'Payload Too Large' });
  });

  it('in mid-stream is reported the same way', async () => {
    server.answer = (response) => {
      const error = { error: { message: `bad key ${credential}`, type: 'authentication_error', code: null } };
      response
        .writeHead(200, sse)
        .end(`${chunk({ role: 'assistant', content: 'half' })}data: ${JSON.stringify(error)}\n\n`);
    };
    expect(await failureOf(createEngine())).toMatchObject({ kind: 'upstream-failed', said: 'half' });
  });

  it.each<[string, string, object, string]>([
    [
      'ends too soon',
      chunk({ content: 'half' }),
      sse,
      'the upstream closed the stream before the answer was complete',
    ],
    ['has a piece that is no JSON', 'data: half\n\n', sse, 'the upstream sent a message that is not JSON'],
    [
      'is nested too deep',
      `data: ${'['.repeat(2000)}\n\n`,
      sse,
      'a message of the stream is nested deeper than 500 levels',
    ],
    ['is only begun', '{"choices":', {}, "the upstream's answer is not JSON of at most 500 levels"],
    ['is compressed', 'x', { 'content-encoding': 'gzip' }, 'the upstream compressed its answer unasked'],
    ['is for people', '\n<!doctype html>', {}, 'the upstream answered with a web page'],
    ['reports an error', 'data: {"error":{"message":"half"}}\n\n', sse, 'the answer reports an error'],
  ])('tells a log why an answer failed that %s, and nothing of what was said', async (_, body, head, why) => {
    server.answer = (response) => response.writeHead(200, { ...head }).end(body);
    const facts: unknown[] = [];
    await runOf(createEngine(), askFor('hi'), { onFailure: (each) => facts.push(each) });
    expect(facts).toEqual([{ why }]);
  });

  it('to be reachable at all is unavailability', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    await server.close();
    expect(await failureOf(engine)).toMatchObject({ kind: 'unavailable' });
    expect(engine.isReady()).toBe(false);
    server = await ChatServer.open();
  });
});

describe('the readiness of an upstream engine', () => {
  it('is lost with a connection and comes back with the server', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    server.answer = (response) => response.socket?.destroy();
    await runOf(engine, askFor('hi'));
    expect(engine.isReady()).toBe(false);
    server.answer = undefined;
    await expect.poll(() => engine.isReady()).toBe(true);
  });

  it('is reported when it changes, with the server that was lost and why', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    const port = Number(new URL(server.baseUrl).port);
    await server.close();
    await runOf(engine, askFor('hi'));
    await expect.poll(() => readiness).toEqual([[false, `http://127.0.0.1:${port}: ECONNREFUSED`]]);
    server = await ChatServer.open(port);
    await expect.poll(() => readiness).toHaveLength(2);
    expect(readiness[1]).toEqual([true, undefined]);
  });

  it('is not lost because of an answer that refuses', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    answerWith(503, {});
    await runOf(engine, askFor('hi'));
    expect(engine.isReady()).toBe(true);
  });

  it('is lost, not only in doubt, after two failed probes, and comes back', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    const port = Number(new URL(server.baseUrl).port);
    await server.close();
    expect(engine.availability()).toBe('here');
    await runOf(engine, askFor('hi'));
    expect(engine.availability()).toBe('in-doubt');
    await expect.poll(() => engine.availability()).toBe('away');
    server = await ChatServer.open(port);
    await expect.poll(() => engine.availability()).toBe('here');
  });

  it('is in doubt after an answer that refuses, until the server lists its models', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    let asked = 0;
    server.answer = (response, { path }) => {
      if (path.endsWith('/models')) asked += 1;
      response.writeHead(path.endsWith('/models') ? 200 : 503).end('{}');
    };
    await runOf(engine, askFor('hi'));
    await expect.poll(() => asked).toBe(1);
    await expect.poll(() => engine.availability()).toBe('here');
  });

  it('is in doubt for as long as nobody answers, if a call found nobody', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    const held: ServerResponse[] = [];
    server.answer = (response, { path }) => {
      if (path.endsWith('/models')) held.push(response);
      else response.socket?.destroy();
    };
    await runOf(engine, askFor('hi'));
    await expect.poll(() => held).toHaveLength(1);
    vi.advanceTimersByTime(5000);
    expect(engine.availability()).toBe('in-doubt');
    held[0]?.end('{}');
    await expect.poll(() => engine.availability()).toBe('here');
  });

  it('is noticed to be gone after a clock was set back', async () => {
    let now = Date.now();
    const options = upstreamOptions.parse({ baseUrl: server.baseUrl, probeIntervalMs: 20 });
    const engine = createUpstreamEngine(options, { ...services, now: () => now });
    engines.push(engine);
    await engine.start(new AbortController().signal);
    now -= 3_600_000;
    answerWith(503, {});
    await expect.poll(() => engine.availability()).toBe('away');
  });

  it('is gone with its credential, and comes back with it', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    answerWith(401, {});
    await runOf(engine, askFor('hi'));
    await expect.poll(() => engine.availability()).toBe('away');
    expect(readiness).toEqual([[false, `${new URL(server.baseUrl).origin}: 401`]]);
    server.answer = undefined;
    await expect.poll(() => engine.availability()).toBe('here');
  });

  it('is not in doubt if the server is only slow to answer a probe', async () => {
    const engine = createEngine({ connectTimeoutMs: 20 });
    await engine.start(new AbortController().signal);
    let asked = 0;
    server.answer = (response, { path }) => {
      if (path.endsWith('/models')) asked += 1;
      else response.socket?.destroy();
    };
    await runOf(engine, askFor('hi'));
    await expect.poll(() => asked).toBeGreaterThan(2);
    expect(engine.availability()).toBe('here');
  });

  it('ends with the engine', async () => {
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    const { events, done } = record(engine, askFor('[[sim tokens=5 ttft=0 gap=0 stall@2]]'), {
      onEvent: (seen) => textOf(seen) !== '' && void engine.stop(),
    });
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream-failed' } });
    expect(engine.isReady()).toBe(false);
  });
});

describe('the start of an upstream engine', () => {
  /** Starts an engine, whose time is up when the test says so. */
  function startUntil(engine: UpstreamEngine) {
    const limit = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal);
    const started = engine.start(new AbortController().signal);
    started.catch(() => undefined);
    return { started, timeIsUp: () => limit.abort() };
  }

  it('waits for a server that is not ready yet, and reports that once', async () => {
    let asked = 0;
    server.answer = (response) => {
      asked += 1;
      response.writeHead(asked < 3 ? 503 : 200).end('{}');
    };
    const engine = createEngine();
    await engine.start(new AbortController().signal);
    expect(engine.isReady()).toBe(true);
    expect(server.seen.map((seen) => seen.path)).toEqual(Array(3).fill('/v1/models'));
    expect(readiness).toEqual([
      [false, `waiting for ${new URL(server.baseUrl).origin}: 503`],
      [true, undefined],
    ]);
  });

  it('rejects with a clear message if the credential is refused', async () => {
    answerWith(401, {});
    await expect(createEngine().start(new AbortController().signal)).rejects.toThrow(
      /refuses the credential/,
    );
  });

  it('rejects with a clear message if nobody answers in time', async () => {
    const vacant: Server = createServer();
    await new Promise<void>((resolve) => vacant.listen(0, '127.0.0.1', resolve));
    const address = vacant.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await new Promise((resolve) => vacant.close(resolve));
    const engine = createEngine({ baseUrl: `http://127.0.0.1:${port}/v1`, startTimeoutMs: 30 });
    const { started, timeIsUp } = startUntil(engine);
    await expect.poll(() => readiness).toHaveLength(1);
    timeIsUp();
    await expect(started).rejects.toThrow(/did not answer in 30 ms: ECONNREFUSED/);
  });

  it('tells what it has found, if its time is up while it asks again', async () => {
    let asked = 0;
    server.answer = (response) => {
      asked += 1;
      if (asked === 1) response.writeHead(503).end('{}');
    };
    const { started, timeIsUp } = startUntil(createEngine());
    await expect.poll(() => asked).toBe(2);
    timeIsUp();
    await expect(started).rejects.toThrow(/did not answer in 60000 ms: 503/);
  });

  it('ends with its signal', async () => {
    answerWith(503, {});
    await expect(createEngine().start(AbortSignal.abort())).rejects.toThrow();
  });
});

describe('a continued answer', () => {
  const delivered = referenceText(3, 0, 8);
  const resume = { content: [{ type: 'text' as const, text: delivered }], outputTokens: 8 };

  it('is requested with the delivered text and the flags of the dialect', async () => {
    const engine = createEngine({ resume: 'prefix' });
    const sampling = { maxOutputTokens: 12, temperature: 0.3 };
    const request = askFor('[[sim tokens=20 seed=3 ttft=0 gap=0]]', { sampling });
    const events = await runOf(engine, request, { resume });
    expect(delivered + textOf(events)).toBe(referenceText(3, 0, 12));
    expect(server.seen[0]?.body).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
      temperature: 0.3,
      messages: [{ role: 'user' }, { role: 'assistant', content: delivered }],
    });
    expect(collect(events).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 12 } });
  });

  it.each([400, 413])(
    'that its server refuses with %d is a lost one, and no fault of its client',
    async (status) => {
      answerWith(status, {
        error: { message: 'final assistant content cannot end with trailing whitespace' },
      });
      const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
      expect(events).toEqual([
        {
          type: 'error',
          error: expect.objectContaining({ kind: 'upstream-failed', detail: 'worker-lost' }),
          usage: { inputTokens: 0, outputTokens: 0 },
        },
      ]);
    },
  );

  it('that its server has no room for now is refused as any other', async () => {
    answerWith(429, { error: { message: 'busy' } });
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'rate-limited', message: 'busy' } }]);
  });

  it('has cost what its server says beside the tokens, too', async () => {
    const usage = {
      ...{ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      prompt_tokens_details: { cached_tokens: 6 },
    };
    answerWith(200, { ...single('the rest'), usage });
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
    expect(collect(events).finish.usage).toMatchObject({
      ...{ inputTokens: 20 - 8, outputTokens: 5 + 8 },
      cacheReadTokens: 6,
    });
  });

  it('has read no more of its prompt from a cache than the prompt has without what was delivered', async () => {
    const usage = {
      ...{ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      prompt_tokens_details: { cached_tokens: 16 },
    };
    answerWith(200, { ...single('the rest'), usage });
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
    expect(collect(events).finish.usage).toMatchObject({ inputTokens: 12, cacheReadTokens: 12 });
  });

  it.each<[string, object]>([
    ['thoughts', { reasoning_content: 'Hm.' }],
    ['a call', { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }],
    ['a part of a kind of its own', { content: [{ type: 'odd' }] }],
  ])('that its server begins with %s is lost: it is not the rest of the text', async (_what, delta) => {
    answerWith(200, chunk({ role: 'assistant', ...delta }) + chunk({}, 'stop'));
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
    expect(events).toMatchObject([{ type: 'start' }, { type: 'error', error: { detail: 'worker-lost' } }]);
  });

  it('goes on beside fields of its server that are not content', async () => {
    const unknown = { annotations: [], provider_specific_fields: { tier: 'a' } };
    answerWith(200, chunk({ role: 'assistant', content: '', ...unknown }) + complete('the rest'));
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi'), { resume });
    expect(textOf(events)).toBe('the rest');
    expect(events).toContainEqual({ type: 'opaque', format: 'openai', value: { delta: unknown } });
  });

  it('needs no server if its limit had been reached', async () => {
    const request = askFor('[[sim tokens=20 seed=3]]', { sampling: { maxOutputTokens: 8 } });
    const events = await runOf(createEngine({ resume: 'prefix' }), request, { resume });
    expect(events).toMatchObject([
      { type: 'start' },
      { type: 'finish', reason: 'length', usage: { outputTokens: 8 } },
    ]);
    expect(server.seen).toHaveLength(0);
  });

  it.each<[string, Reasoning]>([
    ['declined by its effort', { effort: 'none' }],
    ['declined by its budget', { budgetTokens: 0 }],
  ])('goes on where thinking is %s', async (_what, reasoning) => {
    answerWith(200, complete('the rest'));
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi', { reasoning }), { resume });
    expect(textOf(events)).toBe('the rest');
  });

  it.each<[string, Partial<InferenceRequest>, typeof resume.content]>([
    ['tools', { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] }, resume.content],
    ['JSON', { output: { type: 'json' } }, resume.content],
    ['reasoning', { reasoning: { effort: 'high' } }, resume.content],
    ['reasoning as much as the model likes', { reasoning: {} }, resume.content],
    ['visible reasoning', { reasoning: { visible: true } }, resume.content],
    ['several blocks', {}, [...resume.content, ...resume.content]],
  ])('is refused for %s, which would be corrupted', async (_what, rest, content) => {
    const events = await runOf(createEngine({ resume: 'prefix' }), askFor('hi', rest), {
      resume: { content, outputTokens: 8 },
    });
    expect(events).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed', detail: 'worker-lost' } },
    ]);
    expect(server.seen).toHaveLength(0);
  });
});
