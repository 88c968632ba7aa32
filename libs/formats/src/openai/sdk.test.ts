import { collect, type ErrorInfo, type GenerationEvent } from '@sluice/canonical';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { goldenCases } from '../golden-case.ts';
import { openai } from './index.ts';

const { server } = openai;

interface Sent {
  path: string;
  body: unknown;
}

/** The official client with our codec: its requests are decoded, and the answers are encoded as it asked. */
function connect(choices: readonly (readonly GenerationEvent[])[], sent: Sent[] = []): OpenAI {
  return new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://sluice.test/v1',
    maxRetries: 0,
    fetch: async (url, init) => {
      const path = new URL(String(url)).pathname;
      const body: unknown = JSON.parse(String(init?.body));
      sent.push({ path, body });
      const { call } = server.decodeRequest({ path, headers: {}, query: {}, requestId: 'r', body });
      if (!call.stream) return Response.json(server.encodeResponse(choices.map(collect), call));
      const encoder = server.createStreamEncoder(call);
      const text = choices.flatMap((events, choice) => events.map((event) => encoder.push(event, choice)));
      const headers = { 'content-type': encoder.contentType };
      return new Response([encoder.keepAlive(), ...text].join(''), { headers });
    },
  });
}

const answered = goldenCases('openai').filter(
  ({ events, facts, wire }) =>
    events.length > 0 && !facts.refused && wire && events.every((choice) => choice.at(-1)?.type === 'finish'),
);

test.each(answered.map((golden) => [golden.name, golden] as const))(
  'the SDK accumulates the stream of %s to its single body',
  async (name, { events, wire }) => {
    // Safe to cast: the file is a request of this very dialect.
    const body = wire?.body as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const client = connect(events);
    const single = await client.chat.completions.create({ ...body, stream: false });
    // The SDK's helper expects a function in every call, so it has no place for a custom tool's answer.
    if (name.startsWith('custom-tool')) return;
    const { stream, ...rest } = body;
    const streamed = await client.chat.completions.stream(rest).finalChatCompletion();
    expect(streamed.choices.map(({ finish_reason }) => finish_reason)).toEqual(
      single.choices.map(({ finish_reason }) => finish_reason),
    );
    for (const [index, { message }] of single.choices.entries()) {
      const other = streamed.choices[index]?.message;
      expect(other?.content ?? '').toBe(message.content ?? '');
      expect(other?.refusal ?? null).toBe(message.refusal);
      expect(other?.tool_calls ?? []).toMatchObject(message.tool_calls ?? []);
      expect(other?.function_call).toEqual(message.function_call);
    }
    expect(streamed.usage ?? single.usage).toEqual(single.usage);
    expect(streamed).toMatchObject({ id: single.id, created: single.created, model: single.model });
  },
);

const failure: ErrorInfo = { kind: 'unavailable', message: 'no worker answers' };

test('an error in mid-stream is thrown by the SDK with its code', async () => {
  const client = connect([
    [
      { type: 'start', id: 'a', model: 'm', createdAt: 1 },
      { type: 'text-delta', block: 0, text: 'Once' },
      { type: 'error', error: failure },
    ],
  ]);
  const stream = await client.chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
  });
  let text = '';
  const reading = async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  };
  await expect(reading()).rejects.toMatchObject({ code: 'service_unavailable', type: 'server_error' });
  expect(text).toBe('Once');
});

test('an error body becomes the SDK error of its status, with code, type and param', async () => {
  const { status, headers, body } = server.encodeError(
    { kind: 'not-found', detail: 'model-not-found', message: 'the model does not exist', param: 'model' },
    { requestId: 'r' },
  );
  const client = new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://sluice.test/v1',
    maxRetries: 0,
    fetch: async () => Response.json(body, { status, headers }),
  });
  const asking = client.chat.completions.create({ model: 'x', messages: [] });
  await expect(asking).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(asking).rejects.toMatchObject({ code: 'model_not_found', param: 'model' });
});

test('the SDK lists models', async () => {
  const body = server.encodeModelList(
    [{ id: 'org/m:v1', displayName: 'M', createdAt: 1_700_000_000_999 }],
    {},
  );
  const client = new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://sluice.test/v1',
    fetch: async () => Response.json(body),
  });
  const models = [];
  for await (const model of client.models.list()) models.push(model);
  expect(models).toEqual([{ id: 'org/m:v1', object: 'model', created: 1_700_000_000, owned_by: 'sluice' }]);
});
