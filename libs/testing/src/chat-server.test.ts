import { describe, expect, it } from 'vitest';
import { startChatServer } from './chat-server.ts';

const ask = (baseUrl: string, body: object, signal?: AbortSignal) =>
  fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-model', messages: [], ...body }),
    signal: signal ?? null,
  });

describe('startChatServer', () => {
  it('answers one script as a stream and as a single body', async () => {
    await using server = await startChatServer();
    const single = await (await ask(server.baseUrl, {})).json();
    expect(single).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hello there.' }, finish_reason: 'stop' }],
      usage: { total_tokens: 5 },
    });
    const stream = await (await ask(server.baseUrl, { stream: true })).text();
    const lines = stream.split('\n\n').filter((line) => line !== '');
    expect(lines.at(-1)).toBe('data: [DONE]');
    expect(lines).toHaveLength(5);
  });

  it('writes a tool call in fragments to a stream and in one piece to a body', async () => {
    await using server = await startChatServer({
      async script(exchange) {
        await exchange.toolCall({ index: 0, id: 'call_1', name: 'look', arguments: ['{"a"', ':1}'] });
        await exchange.finish('tool_calls');
      },
    });
    const single = await (await ask(server.baseUrl, {})).json();
    expect(single).toMatchObject({
      choices: [{ message: { content: null, tool_calls: [{ function: { arguments: '{"a":1}' } }] } }],
    });
    const stream = await (await ask(server.baseUrl, { stream: true })).text();
    expect(stream).toContain('{"arguments":"{\\"a\\""}');
    expect(stream).toContain('{"arguments":":1}"}');
  });

  it('waits where the test tells it to wait', async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startChatServer({
      async script(exchange) {
        await exchange.text('before');
        await gate.promise;
        await exchange.finish('stop');
      },
    });
    const response = await ask(server.baseUrl, { stream: true });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toContain('before');
    gate.resolve();
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read());
    expect(server.exchanges[0]?.wasAborted).toBe(false);
  });

  it('records requests and notices a caller that leaves', async () => {
    await using server = await startChatServer({
      async script(exchange) {
        await exchange.text('and then');
        await exchange.closed;
      },
    });
    const leave = new AbortController();
    const response = await ask(server.baseUrl, { stream: true, seed: 7 }, leave.signal);
    const exchange = await server.arrival(1);
    expect(exchange.request.body).toMatchObject({ stream: true, seed: 7 });
    leave.abort();
    await exchange.closed;
    expect(exchange.wasAborted).toBe(true);
    await response.body?.cancel().catch(() => undefined);
  });

  it('cuts the connection of a script that does not finish', async () => {
    await using server = await startChatServer({ script: (exchange) => exchange.text('half') });
    const response = await ask(server.baseUrl, { stream: true });
    await expect(response.text()).rejects.toThrow();
  });

  it('fails with the status, headers and body of the script', async () => {
    await using server = await startChatServer({
      script: (exchange) => exchange.fail(429, { error: { message: 'slow down' } }, { 'retry-after': '2' }),
    });
    const response = await ask(server.baseUrl, {});
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('2');
  });

  it('lists its models', async () => {
    await using server = await startChatServer({ models: ['one', 'two'] });
    const list = await (await fetch(`${server.baseUrl}/models`)).json();
    expect(list).toMatchObject({ data: [{ id: 'one' }, { id: 'two' }] });
  });
});
