import { type ChatScript, type ChatServer, startChatServer, until } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Format, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { rejection } from '../support/sdk-gateway.ts';
import { ask } from './ask.ts';

const credential = 'the-operators-own-credential';
let server: ChatServer;
let gateway: Gateway;
beforeAll(async () => {
  server = await startChatServer();
  const backend = {
    engine: 'upstream',
    baseUrl: server.baseUrl,
    credential: { env: 'UPSTREAM_KEY' },
    slots: 8,
  };
  const model = (pool: string) => ({ pool, backendModel: 'vendor/model', maxOutputTokens: 500 });
  gateway = await startGateway({
    environment: { UPSTREAM_KEY: credential },
    settings: {
      pools: {
        chat: { backend },
        impatient: { backend: { ...backend, idleTimeoutMs: 300 } },
      },
      models: { chat: model('chat'), impatient: model('impatient') },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
});

const usage = { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 };

function say(format: Format, stream: boolean, more: { model?: string; signal?: AbortSignal } = {}) {
  const { baseUrl, apiKey } = gateway;
  return call({ baseUrl, apiKey, model: 'chat', format, prompt: 'hello', stream, ...more });
}

/** Runs a call against a script and returns the answer with the exchanges that it caused. */
async function play<Result>(script: ChatScript, run: () => Promise<Result>) {
  const before = server.exchanges.length;
  server.answerWith(script);
  const result = await run();
  return { result, exchanges: server.exchanges.slice(before) };
}

const finishes: Record<Format, Record<string, string>> = {
  openai: { stop: 'stop', length: 'length', tool_calls: 'tool_calls' },
  anthropic: { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' },
  gemini: { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP' },
};

const ways = formats.flatMap((format) => [
  { format, stream: false, way: 'in one body' },
  { format, stream: true, way: 'as a stream' },
]);

describe.each(ways)('a chat-completions server behind $format $way', ({ format, stream }) => {
  const question = (more: object = {}) =>
    ask[format](
      { baseUrl: gateway.baseUrl, apiKey: gateway.apiKey, model: 'chat' },
      { prompt: 'hello', ...more },
      stream,
    );

  it.each(['stop', 'length'])('gives its text, usage and the reason %s', async (reason) => {
    const { result, exchanges } = await play(
      async (exchange) => {
        await exchange.text('Hi ');
        await exchange.text('there. 👋🏽');
        await exchange.finish(reason, usage);
      },
      () => question(),
    );
    expect(result).toEqual({
      text: 'Hi there. 👋🏽',
      reasoning: '',
      calls: [],
      finish: finishes[format][reason],
      inputTokens: 30,
      outputTokens: 2,
    });
    expect(exchanges).toHaveLength(1);
    const { body, headers } = exchanges[0]?.request ?? {};
    expect(headers?.authorization).toBe(`Bearer ${credential}`);
    expect(body).toMatchObject({
      model: 'vendor/model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
    });
    expect(JSON.stringify([body, headers])).not.toContain(gateway.apiKey);
  });

  it('gives its tool calls, fragmented and parallel', async () => {
    const { result, exchanges } = await play(
      async (exchange) => {
        await exchange.toolCall({
          index: 0,
          id: 'call_a',
          name: 'get_weather',
          arguments: ['{"ci', 'ty":"', 'Oslo"}'],
        });
        await exchange.toolCall({ index: 1, id: 'call_b', name: 'get_time', arguments: ['{}'] });
        await exchange.finish('tool_calls', usage);
      },
      () => question({ tools: 'auto' }),
    );
    expect(result).toMatchObject({
      calls: [
        { name: 'get_weather', arguments: { city: 'Oslo' } },
        { name: 'get_time', arguments: {} },
      ],
      finish: finishes[format].tool_calls,
    });
    expect(exchanges[0]?.request.body.tools).toMatchObject([
      { type: 'function', function: { name: 'get_weather', parameters: { required: ['city'] } } },
      { type: 'function', function: { name: 'get_time' } },
    ]);
  });

  it('is told of results and of forced calls in its own words', async () => {
    const { exchanges } = await play(
      async (exchange) => {
        await exchange.text('done');
        await exchange.finish('stop', usage);
      },
      () => question({ tools: 'forced', hasResult: true }),
    );
    expect(exchanges[0]?.request.body).toMatchObject({
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      messages: [
        { role: 'system' },
        { role: 'user' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1' },
      ],
    });
  });

  it.each([
    { status: 400, seen: 400, says: 'the temperature is wrong' },
    { status: 401, seen: 502, says: "refused the gateway's credential" },
    { status: 402, seen: 502, says: "the gateway's account" },
    { status: 404, seen: 502, says: 'does not know the model' },
    { status: 429, seen: 429, says: 'the temperature is wrong' },
    { status: 500, seen: 502, says: 'the temperature is wrong' },
    { status: 503, seen: 503, says: 'the temperature is wrong' },
  ])('has its status $status seen as $seen', async ({ status, seen, says }) => {
    const message = `the temperature is wrong ${credential}`;
    const { result, exchanges } = await play(
      (exchange) => exchange.fail(status, { error: { message, type: 'x' } }, { 'retry-after': '7' }),
      () => say(format, stream),
    );
    expect(result).toMatchObject({ status: seen, error: expect.stringContaining(says) });
    expect(result.error).not.toContain(credential);
    if (status === 429 || status === 503) expect(result.headers.get('retry-after')).toBe('7');
    // A server that says when to come again is asked once; the client may come again then.
    expect(exchanges).toHaveLength(1);
    if (status === 503) expect(result.headers.get('x-should-retry')).toBeNull();
  });

  it('that answers with a page instead of JSON is a bad gateway', async () => {
    const { result } = await play(
      (exchange) => exchange.fail(500, '<html>oops</html>'),
      () => say(format, stream),
    );
    expect(result).toMatchObject({ status: 502, error: expect.stringMatching(/./) });
  });

  it('that breaks off mid-way is told to the client, and nothing is said twice', async () => {
    for (const breakOff of ['cut', 'end'] as const) {
      const { result, exchanges } = await play(
        async (exchange) => {
          await exchange.text('half');
          await exchange[breakOff]();
        },
        () => say(format, stream),
      );
      expect(result).toMatchObject({
        status: stream ? 200 : 502,
        isComplete: false,
        text: stream ? 'half' : '',
        error: expect.stringContaining('upstream'),
      });
      expect(exchanges).toHaveLength(1);
    }
  });

  it('that falls silent mid-way is given up', async () => {
    const { result, exchanges } = await play(
      async (exchange) => {
        await exchange.text('half');
        await exchange.closed;
      },
      () => say(format, stream, { model: 'impatient' }),
    );
    expect(result).toMatchObject({ isComplete: false, error: expect.stringContaining('silent') });
    await exchanges[0]?.closed;
    expect(exchanges[0]?.wasAborted).toBe(true);
  });

  it('that is there again before the first token is asked again unseen', async () => {
    let count = 0;
    const { result, exchanges } = await play(
      async (exchange) => {
        count += 1;
        if (count === 1) {
          exchange.cut();
          return;
        }
        await exchange.text('second');
        await exchange.finish('stop', usage);
      },
      () => say(format, stream),
    );
    expect(result).toMatchObject({ status: 200, text: 'second', isComplete: true });
    expect(exchanges).toHaveLength(2);
  });

  it('is let go of when the client leaves', async () => {
    const leave = new AbortController();
    const before = server.exchanges.length;
    server.answerWith(async (exchange) => {
      if (exchange.request.body.stream === true) await exchange.text('and then');
      await exchange.closed;
    });
    const rejected = rejection(say(format, stream, { signal: leave.signal }));
    const exchange = await server.arrival(before + 1);
    leave.abort();
    await exchange.closed;
    expect(exchange.wasAborted).toBe(true);
    expect(await rejected).toMatchObject({ name: 'AbortError' });
    await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
  });
});
