import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  drain,
  listedModels,
  rejection,
  type SdkGateway,
  startSdkGateway,
  weatherSchema,
} from '../support/sdk-gateway.ts';

type Message = OpenAI.ChatCompletionMessageParam;
type Tool = OpenAI.ChatCompletionTool;

let installation: SdkGateway;
let client: OpenAI;
beforeAll(async () => {
  installation = await startSdkGateway();
  client = clientWith(installation.apiKey);
});
afterAll(() => installation.stop());

function clientWith(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${installation.baseUrl}/v1`, apiKey, maxRetries: 0 });
}

const user = (content: string): Message => ({ role: 'user', content });
const ask = (prompt: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) =>
  client.chat.completions.create({ model: 'sim', messages: [user(prompt)], ...more });

const weather: Tool = { type: 'function', function: { name: 'get_weather', parameters: weatherSchema } };
const clock: Tool = { type: 'function', function: { name: 'get_time' } };

describe('text', () => {
  it('is the same as one body, as raw chunks and by the stream helper', async () => {
    const prompt = '[[sim tokens=20 seed=7]]';
    const text = referenceText(7, 0, 20);

    const single = await ask(prompt);
    expect(single).toMatchObject({
      object: 'chat.completion',
      model: 'sim',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    });

    const chunks = await client.chat.completions.create({
      model: 'sim',
      messages: [user(prompt)],
      stream: true,
    });
    let streamed = '';
    for await (const chunk of chunks) streamed += chunk.choices[0]?.delta.content ?? '';
    expect(streamed).toBe(text);

    const helper = client.chat.completions.stream({ model: 'sim', messages: [user(prompt)] });
    const final = await helper.finalChatCompletion();
    expect(final.choices[0]).toMatchObject({
      message: { role: 'assistant', content: text },
      finish_reason: 'stop',
    });
  });

  it('answers under an alias and under an id with a slash and a colon', async () => {
    expect((await ask('[[sim tokens=1]]', { model: 'gpt-9' })).model).toBe('gpt-9');
    expect((await ask('[[sim tokens=1]]', { model: 'org/name:v1' })).model).toBe('org/name:v1');
  });

  it('goes on after system messages in any place and several turns', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      user('first'),
      { role: 'assistant', content: 'an answer' },
      { role: 'developer', content: [{ type: 'text', text: 'Now be long.' }] },
      user('[[sim tokens=5 seed=3]]'),
      { role: 'system', content: 'And friendly.' },
    ];
    const completion = await client.chat.completions.create({ model: 'sim', messages });
    expect(completion.choices[0]?.message.content).toBe(referenceText(3, 0, 5));
    // The token count shows what the model was given: every turn, and every system message.
    const turns = messages.filter(({ role }) => role === 'user' || role === 'assistant');
    const counted = await Promise.all(
      [messages.slice(4, 5), turns, turns.concat(messages.slice(0, 1)), messages].map(async (part) => {
        const { usage } = await client.chat.completions.create({ model: 'sim', messages: part });
        return usage?.prompt_tokens ?? Number.NaN;
      }),
    );
    expect(counted).toEqual([...new Set(counted)].sort((left, right) => left - right));
  });

  it('ends before a stop sequence, as a stream too', async () => {
    const words = referenceText(7, 0, 20).split(' ');
    const stop = `${words[3]} ${words[4]}`;
    const text = `${words.slice(0, 3).join(' ')} `;
    const single = await ask('[[sim tokens=20 seed=7]]', { stop });
    expect(single.choices[0]).toMatchObject({ message: { content: text }, finish_reason: 'stop' });
    const stream = client.chat.completions.stream({
      model: 'sim',
      messages: [user('[[sim tokens=20 seed=7]]')],
      stop: [stop],
    });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(text);
  });

  it('ends at the output limit by either of its names', async () => {
    for (const limit of [{ max_tokens: 4 }, { max_completion_tokens: 4 }]) {
      const completion = await ask('[[sim tokens=20 seed=7]]', limit);
      expect(completion.choices[0]).toMatchObject({
        message: { content: referenceText(7, 0, 4) },
        finish_reason: 'length',
      });
      expect(completion.usage?.completion_tokens).toBe(4);
      const parameters = { model: 'sim', messages: [user('[[sim tokens=20 seed=7]]')], ...limit };
      const streamed = await client.chat.completions.stream(parameters).finalChatCompletion();
      expect(streamed.choices[0]).toMatchObject({
        message: { content: referenceText(7, 0, 4) },
        finish_reason: 'length',
      });
    }
  });

  it('takes a limit beyond the model for the model limit', async () => {
    const completion = await ask('[[sim tokens=5000]]', { max_tokens: 1_000_000 });
    expect(completion.usage?.completion_tokens).toBe(4096);
  });
});

describe('usage', () => {
  it('adds up in a body and comes in a stream only on demand, last and alone', async () => {
    const single = await ask('[[sim tokens=20]]');
    const { prompt_tokens, completion_tokens, total_tokens } = single.usage ?? {};
    expect(completion_tokens).toBe(20);
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(total_tokens).toBe((prompt_tokens ?? 0) + 20);

    const parameters = { model: 'sim', messages: [user('[[sim tokens=20]]')], stream: true as const };
    const without = await drain(await client.chat.completions.create(parameters));
    expect(without.items.some((chunk) => chunk.usage)).toBe(false);

    const stream_options = { include_usage: true };
    const { items } = await drain(await client.chat.completions.create({ ...parameters, stream_options }));
    expect(items.at(-1)).toMatchObject({ choices: [], usage: single.usage });
    expect(items.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });
});

describe('tools', () => {
  it('are called when required, by name, and when the model wants to', async () => {
    const tools = [clock, weather];
    const required = await ask('[[sim seed=1]]', { tools, tool_choice: 'required' });
    const named = await ask('[[sim seed=1]]', {
      tools,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    const auto = await ask('[[sim seed=1 tool=get_weather]]', { tools, tool_choice: 'auto' });
    expect(calledNames(required)).toEqual(['get_time']);
    expect(calledNames(named)).toEqual(['get_weather']);
    expect(calledNames(auto)).toEqual(['get_weather']);
    for (const { choices } of [required, named, auto]) {
      expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    }
    const call = auto.choices[0]?.message.tool_calls?.[0];
    if (call?.type !== 'function') throw new TypeError('expected a function call');
    expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) });
  });

  it('are left alone when the choice is none', async () => {
    const completion = await ask('[[sim tokens=3 seed=1 tool=get_weather]]', {
      tools: [weather],
      tool_choice: 'none',
    });
    expect(completion.choices[0]?.message.content).toBe(referenceText(1, 0, 3));
    expect(completion.choices[0]?.message.tool_calls).toBeUndefined();
  });

  it('are called in parallel, and one at a time when that is forbidden', async () => {
    const prompt = '[[sim seed=1 tool=get_weather,get_time]]';
    const tools = [clock, weather];
    const single = await ask(prompt, { tools });
    expect(calledNames(single)).toEqual(['get_weather', 'get_time']);
    const stream = client.chat.completions.stream({ model: 'sim', messages: [user(prompt)], tools });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject(
      single.choices[0]?.message.tool_calls ?? [],
    );
    expect(streamed.choices[0]?.finish_reason).toBe('tool_calls');
    expect(calledNames(await ask(prompt, { tools, parallel_tool_calls: false }))).toEqual(['get_weather']);
  });

  it('give results that the model answers in text', async () => {
    const question = user('[[sim tokens=4 seed=2 tool=get_weather,get_time]]');
    const tools = [weather, clock];
    const first = await client.chat.completions.create({ model: 'sim', messages: [question], tools });
    const message = first.choices[0]?.message;
    if (!message?.tool_calls) throw new TypeError('expected tool calls');
    const results = message.tool_calls.map(
      ({ id }): Message => ({ role: 'tool', tool_call_id: id, content: 'sunny' }),
    );
    const second = await client.chat.completions.create({
      model: 'sim',
      messages: [question, message, ...results],
      tools,
    });
    expect(second.choices[0]).toMatchObject({
      message: { content: referenceText(2, 0, 4) },
      finish_reason: 'stop',
    });
  });

  it('are run by the SDK itself in its tool loop', async () => {
    const seen: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: 'sim',
      messages: [user('[[sim tokens=4 seed=2 tool=get_weather]]')],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather.',
            parameters: weatherSchema,
            parse: JSON.parse,
            function: (value: object) => {
              seen.push(value);
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe(referenceText(2, 0, 4));
    expect(seen).toEqual([{ city: expect.any(String) }]);
  });
});

function calledNames(completion: OpenAI.ChatCompletion): (string | undefined)[] {
  const calls = completion.choices[0]?.message.tool_calls ?? [];
  return calls.map((call) => (call.type === 'function' ? call.function.name : undefined));
}

describe('output', () => {
  it('follows a JSON schema and is parsed by the SDK', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 120 } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const completion = await client.chat.completions.parse({
      model: 'sim',
      messages: [user('[[sim seed=5]]')],
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
    expect(completion.choices[0]?.message.parsed).toEqual({
      name: expect.any(String),
      age: expect.any(Number),
    });
  });

  it('is some JSON object where only JSON is asked for', async () => {
    const completion = await ask('anything', { response_format: { type: 'json_object' } });
    expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toBeTypeOf('object');
  });

  it('has the reasoning beside the text and counts it', async () => {
    const completion = await ask('[[sim tokens=3 seed=4 reasoning=5]]', { reasoning_effort: 'high' });
    const message = completion.choices[0]?.message;
    expect(message).toMatchObject({
      content: referenceText(4, 0, 3),
      reasoning_content: referenceText(5, 0, 5),
    });
    expect(completion.usage).toMatchObject({
      completion_tokens: 8,
      completion_tokens_details: { reasoning_tokens: 5 },
    });
  });

  it('comes in as many choices as the format has, unless they would copy a large prompt too often', async () => {
    const prompt = '[[sim tokens=2]]';
    const many = await ask(prompt, { n: 128 });
    expect(many.choices.map(({ index }) => index)).toEqual(Array.from({ length: 128 }, (_, index) => index));
    expect(many.usage?.completion_tokens).toBe(256);
    const streamed = await client.chat.completions
      .stream({ model: 'sim', messages: [user(prompt)], n: 128 })
      .finalChatCompletion();
    expect(streamed.choices).toHaveLength(128);

    const url = `data:image/png;base64,${'A'.repeat(800_000)}`;
    const content = [{ type: 'image_url' as const, image_url: { url } }];
    const large = { model: 'sim', messages: [{ role: 'user' as const, content }] };
    const refused = await rejection(client.chat.completions.create({ ...large, n: 128 }));
    expect(refused).toMatchObject({ status: 413, message: expect.stringContaining('128 answers') });
    expect((await client.chat.completions.create({ ...large, n: 2 })).choices).toHaveLength(2);
  });

  it('comes in several choices that differ, whole or interleaved', async () => {
    const parameters = { n: 3, seed: 40 };
    const single = await ask('[[sim tokens=6]]', parameters);
    expect(single.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const texts = single.choices.map(({ message }) => message.content);
    expect(texts).toEqual([40, 41, 42].map((seed) => referenceText(seed, 0, 6)));
    expect(single.usage?.completion_tokens).toBe(18);
    const stream = client.chat.completions.stream({
      model: 'sim',
      messages: [user('[[sim tokens=6]]')],
      ...parameters,
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices.map(({ message }) => message.content)).toEqual(texts);
  });

  it('has log probabilities on demand', async () => {
    const completion = await ask('[[sim tokens=3 seed=4]]', { logprobs: true, top_logprobs: 2 });
    const content = completion.choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ token }) => token).join('')).toBe(referenceText(4, 0, 3));
    expect(content[0]?.top_logprobs).toHaveLength(2);
  });
});

describe('models', () => {
  it('are listed and found one by one', async () => {
    const { items } = await drain(client.models.list());
    expect(items.map(({ id }) => id)).toEqual(listedModels);
    expect(await client.models.retrieve('org/name:v1')).toEqual({
      id: 'org/name:v1',
      object: 'model',
      created: Date.UTC(2026, 0, 2) / 1000,
      owned_by: expect.any(String),
    });
    expect((await client.models.retrieve('gpt-9')).id).toBe('gpt-9');
  });

  it('are those that the key may use', async () => {
    const { items } = await drain(clientWith(installation.narrowKey).models.list());
    expect(items.map(({ id }) => id)).toEqual(['sim', 'org/name:v1']);
  });

  it('are not found by a name that nobody has', async () => {
    expect(await rejection(client.models.retrieve('nobody'))).toBeInstanceOf(OpenAI.NotFoundError);
  });
});

describe('errors', () => {
  const plain = { model: 'sim', messages: [user('hello')] };

  interface Mistake {
    what: string;
    run: () => PromiseLike<unknown>;
    errorClass: object;
    facts: object;
  }
  const stranger = () => clientWith('sk-wrong');
  const badRequest = (param: string | null) => ({
    errorClass: OpenAI.BadRequestError,
    facts: { status: 400, type: 'invalid_request_error', param },
  });
  const mistakes: Mistake[] = [
    {
      what: 'a wrong key',
      run: () => stranger().chat.completions.create(plain),
      errorClass: OpenAI.AuthenticationError,
      facts: { status: 401, code: 'invalid_api_key' },
    },
    {
      what: 'a wrong key that lists models',
      run: () => stranger().models.list(),
      errorClass: OpenAI.AuthenticationError,
      facts: { status: 401, code: 'invalid_api_key' },
    },
    {
      what: 'an unknown model',
      run: () => ask('hello', { model: 'nobody' }),
      errorClass: OpenAI.NotFoundError,
      facts: { status: 404, code: 'model_not_found', param: 'model' },
    },
    {
      what: 'a model that the key may not use',
      run: () => clientWith(installation.narrowKey).chat.completions.create({ ...plain, model: 'secret' }),
      errorClass: OpenAI.PermissionDeniedError,
      facts: { status: 403, type: 'permission_error' },
    },
    {
      what: 'a path that is not served',
      run: () => client.post('/responses', { body: {} }),
      errorClass: OpenAI.NotFoundError,
      facts: { status: 404 },
    },
    { what: 'no messages', run: () => ask('', { messages: [] }), ...badRequest('messages') },
    {
      what: 'messages that are no list',
      run: () => client.post('/chat/completions', { body: { ...plain, messages: 'hello' } }),
      ...badRequest('messages'),
    },
    { what: 'too many choices', run: () => ask('hello', { n: 1000 }), ...badRequest('n') },
    { what: 'too much heat', run: () => ask('hello', { temperature: 9 }), ...badRequest('temperature') },
    {
      what: 'a choice of a tool that is not there',
      run: () =>
        ask('hello', { tools: [weather], tool_choice: { type: 'function', function: { name: 'other' } } }),
      ...badRequest(null),
    },
    ...[500, 502, 503, 504].map((status) => ({
      what: `a model that fails with ${status}`,
      run: () => ask(`[[sim error=${status}]]`),
      errorClass: OpenAI.InternalServerError,
      facts: { status, type: 'server_error' },
    })),
  ];
  it.each(mistakes)('are of the right class for $what', async ({ run, errorClass, facts }) => {
    const error = await rejection(run());
    expect(error).toBeInstanceOf(errorClass);
    expect(error).toMatchObject({ ...facts, requestID: expect.stringMatching(/\w{8,}/) });
  });

  it('say when to come back where a limit is reached', async () => {
    const error = await rejection(clientWith(installation.spentKey).chat.completions.create(plain));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    const { headers, type } = error as InstanceType<typeof OpenAI.RateLimitError>;
    expect(type).toBe('rate_limit_error');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
  });

  it('before the first token have a status in a stream too', async () => {
    const stream = client.chat.completions.create({
      model: 'sim',
      messages: [user('[[sim error=unavailable]]')],
      stream: true,
    });
    expect(await rejection(stream)).toBeInstanceOf(OpenAI.InternalServerError);
  });

  it('in the middle of a stream are thrown without a status, by the helper too', async () => {
    const parameters = { model: 'sim', messages: [user('[[sim tokens=9 seed=7 error=unavailable@3]]')] };
    const { items, error } = await drain(
      await client.chat.completions.create({ ...parameters, stream: true }),
    );
    expect(items.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(referenceText(7, 0, 3));
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({
      status: undefined,
      type: 'server_error',
      code: 'service_unavailable',
      message: 'the prompt ordered unavailable',
    });
    const helper = client.chat.completions.stream(parameters);
    expect(await rejection(helper.finalChatCompletion())).toBeInstanceOf(OpenAI.OpenAIError);
  });
});

describe('leaving', () => {
  it('in the middle of a stream ends the generation', async () => {
    const chunks = await client.chat.completions.create({
      model: 'sim',
      messages: [user('[[sim tokens=1000 gap=20ms]]')],
      stream: true,
    });
    for await (const chunk of chunks) if (chunk.choices[0]?.delta.content) break;
    await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 0);
  });

  it('by an abort rejects with the abort error of the SDK', async () => {
    const leave = new AbortController();
    const promise = client.chat.completions.create(
      { model: 'sim', messages: [user('[[sim stall@1]]')] },
      { signal: leave.signal },
    );
    const rejected = rejection(promise);
    await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 1);
    leave.abort();
    expect(await rejected).toBeInstanceOf(OpenAI.APIUserAbortError);
    await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 0);
  });
});

describe('rates', () => {
  it('are told with a single body and with a stream', async () => {
    const rated = clientWith(installation.ratedKey);
    const single = await rated.chat.completions.create({ ...counted }).withResponse();
    expect(ratesOf(single.response)).toEqual({ requests: [50, 49], tokens: [100_000, expect.any(Number)] });
    const tokensLeft = ratesOf(single.response).tokens[1] ?? 0;
    expect(tokensLeft).toBeLessThan(100_000);
    expect(tokensLeft).toBeGreaterThan(99_000);
    expect(single.response.headers.get('x-ratelimit-reset-requests')).toMatch(/^14h2[34]m\d+s$/);

    const streamed = await rated.chat.completions.create({ ...counted, stream: true }).withResponse();
    await drain(streamed.data);
    expect(ratesOf(streamed.response).requests).toEqual([50, 48]);
  });

  it('are not told to who has none', async () => {
    const { response } = await client.chat.completions.create({ ...counted }).withResponse();
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });
});

const counted: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  ...{ model: 'sim', max_completion_tokens: 20 },
  messages: [user('[[sim tokens=3]]')],
};

/** The limit and what is left of it, for requests and for tokens. */
function ratesOf({ headers }: Response): Record<'requests' | 'tokens', number[]> {
  const read = (what: string) =>
    ['limit', 'remaining'].map((name) => Number(headers.get(`x-ratelimit-${name}-${what}`)));
  return { requests: read('requests'), tokens: read('tokens') };
}
