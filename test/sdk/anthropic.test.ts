import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import Anthropic0 from 'anthropic-sdk-0';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  drain,
  listedModels,
  rejection,
  type SdkGateway,
  startSdkGateway,
  weatherSchema,
} from '../support/sdk-gateway.ts';

let installation: SdkGateway;
beforeAll(async () => {
  installation = await startSdkGateway();
});
afterAll(() => installation.stop());

// The older SDK sends x-api-key and another version of the API. What is used here has the same types in both.
const generations = [
  { version: '1', Sdk: Anthropic },
  { version: '0.137', Sdk: Anthropic0 as unknown as typeof Anthropic },
];

const weather = { name: 'get_weather', input_schema: weatherSchema };
const clock = { name: 'get_time', input_schema: { type: 'object' as const } };

describe.each(generations)('the messages SDK $version', ({ Sdk, version }) => {
  const clientWith = (apiKey: string) =>
    new Sdk({ baseURL: installation.baseUrl, apiKey, maxRetries: 0, authToken: null });
  const client = () => clientWith(installation.apiKey);
  const plain = (prompt: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: 'sim',
    max_tokens: 1000,
    messages: [{ role: 'user', content: prompt }],
  });
  const ask = (prompt: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) =>
    client().messages.create({ ...plain(prompt), ...more });
  const streamed = (prompt: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) =>
    client()
      .messages.stream({ ...plain(prompt), ...more })
      .finalMessage();

  describe('text', () => {
    it('is the same as one body, as raw events and by the stream helper', async () => {
      const prompt = '[[sim tokens=20 seed=7]]';
      const text = referenceText(7, 0, 20);
      const single = await ask(prompt);
      expect(single).toMatchObject({
        type: 'message',
        role: 'assistant',
        model: 'sim',
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        stop_sequence: null,
      });
      const events = await client().messages.create({ ...plain(prompt), stream: true });
      let raw = '';
      for await (const event of events) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
          raw += event.delta.text;
      }
      expect(raw).toBe(text);
      const final = await streamed(prompt);
      // The helper adds a field of its own.
      expect({ ...final, id: '' }).toEqual({ ...single, id: '', parsed_output: null });
    });

    it('answers through the beta resource', async () => {
      const message = await client().beta.messages.create({
        ...(plain('[[sim tokens=3 seed=7]]') as Anthropic.Beta.MessageCreateParamsNonStreaming),
        betas: ['interleaved-thinking-2025-05-14'],
      });
      expect(message.content).toMatchObject([{ type: 'text', text: referenceText(7, 0, 3) }]);
    });

    it('goes on after a system prompt, system messages in between and several turns', async () => {
      const conversation = {
        model: 'claude-sonnet-5',
        system: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } },
        ],
        messages: [
          { role: 'user', content: 'first' },
          { role: 'assistant', content: [{ type: 'text', text: 'an answer' }] },
          { role: 'user', content: [{ type: 'text', text: '[[sim tokens=5 seed=3]]' }] },
          { role: 'system', content: 'Now be long.' } as Anthropic.MessageParam,
        ],
      } satisfies Partial<Anthropic.MessageCreateParamsNonStreaming>;
      const message = await ask('', conversation);
      expect(message.content).toMatchObject([{ type: 'text', text: referenceText(3, 0, 5) }]);
      expect(message.model).toBe('claude-sonnet-5');
      // The token count shows what the model was given: every turn, and every system prompt.
      const { system, messages } = conversation;
      const counted = await Promise.all(
        [
          { messages: messages.slice(2, 3) },
          { messages: messages.slice(0, 3) },
          { messages: messages.slice(0, 3), system },
          { messages, system },
        ].map(async (part) => (await ask('', part)).usage.input_tokens),
      );
      expect(counted).toEqual([...new Set(counted)].sort((left, right) => left - right));
    });

    it('ends before a stop sequence and names it, as a stream too', async () => {
      const words = referenceText(7, 0, 20).split(' ');
      const stop = `${words[3]} ${words[4]}`;
      const facts = {
        content: [{ type: 'text', text: `${words.slice(0, 3).join(' ')} ` }],
        stop_reason: 'stop_sequence',
        stop_sequence: stop,
      };
      const more = { stop_sequences: ['never said', stop] };
      expect(await ask('[[sim tokens=20 seed=7]]', more)).toMatchObject(facts);
      expect(await streamed('[[sim tokens=20 seed=7]]', more)).toMatchObject(facts);
    });

    it('ends at the output limit, and a limit beyond the model is clamped', async () => {
      const facts = {
        content: [{ text: referenceText(7, 0, 4) }],
        stop_reason: 'max_tokens',
        usage: { output_tokens: 4 },
      };
      expect(await ask('[[sim tokens=20 seed=7]]', { max_tokens: 4 })).toMatchObject(facts);
      expect(await streamed('[[sim tokens=20 seed=7]]', { max_tokens: 4 })).toMatchObject(facts);
      const long = await streamed('[[sim tokens=5000]]', { max_tokens: 128_000 });
      expect(long).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 4096 } });
    });
  });

  describe('tools', () => {
    it('are called when any is required, by name, and when the model wants to', async () => {
      const tools = [clock, weather];
      const any = await ask('[[sim seed=1]]', { tools, tool_choice: { type: 'any' } });
      const named = await ask('[[sim seed=1]]', {
        tools,
        tool_choice: { type: 'tool', name: 'get_weather' },
      });
      const auto = await ask('[[sim seed=1 tool=get_weather]]', { tools });
      expect(any).toMatchObject({ stop_reason: 'tool_use', content: [{ name: 'get_time', input: {} }] });
      const call = { type: 'tool_use', name: 'get_weather', input: { city: expect.any(String) } };
      for (const message of [named, auto]) {
        expect(message).toMatchObject({ stop_reason: 'tool_use', content: [call] });
      }
    });

    it('are left alone when the choice is none', async () => {
      const message = await ask('[[sim tokens=3 seed=1 tool=get_weather]]', {
        tools: [weather],
        tool_choice: { type: 'none' },
      });
      expect(message.content).toMatchObject([{ type: 'text', text: referenceText(1, 0, 3) }]);
    });

    it('are called in parallel after some text, and one at a time when that is forbidden', async () => {
      const prompt = '[[sim tokens=2 seed=1 tool=get_weather,get_time]]';
      const tools = [clock, weather];
      const single = await ask(prompt, { tools });
      expect(single.content).toMatchObject([
        { type: 'text', text: referenceText(1, 0, 2) },
        { type: 'tool_use', name: 'get_weather' },
        { type: 'tool_use', name: 'get_time' },
      ]);
      expect((await streamed(prompt, { tools })).content).toMatchObject(single.content);
      const alone = await ask('[[sim seed=1 tool=get_weather,get_time]]', {
        tools,
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      });
      expect(alone.content).toMatchObject([{ name: 'get_weather' }]);
    });

    it('give results that the model answers in text, failed ones too', async () => {
      const prompt = '[[sim tokens=4 seed=2 tool=get_weather,get_time]]';
      const tools = [weather, clock];
      const first = await ask(prompt, { tools });
      const calls = first.content.filter((block) => block.type === 'tool_use');
      const results = calls.map(
        ({ id }, index): Anthropic.ToolResultBlockParam => ({
          type: 'tool_result',
          tool_use_id: id,
          ...(index === 0 ? { content: 'sunny' } : { is_error: true }),
        }),
      );
      const second = await ask('', {
        tools,
        messages: [
          { role: 'user', content: prompt },
          { role: 'assistant', content: first.content },
          { role: 'user', content: results },
        ],
      });
      expect(second).toMatchObject({
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: referenceText(2, 0, 4) }],
      });
    });

    it('are run by the SDK, whose threads we do not keep', async () => {
      const inputs: unknown[] = [];
      const tool = betaTool({
        name: 'get_weather',
        description: 'The weather.',
        inputSchema: weatherSchema,
        run: (input) => {
          inputs.push(input);
          return 'sunny';
        },
      });
      for (const stream of [false, true]) {
        const last = await client().beta.messages.toolRunner({
          ...{ model: 'sim', max_tokens: 100, tools: [tool], stream },
          messages: [{ role: 'user', content: '[[sim tokens=4 seed=2 tool=get_weather]]' }],
        });
        expect(last.content).toMatchObject([{ type: 'text', text: referenceText(2, 0, 4) }]);
      }
      expect(inputs).toMatchObject([{ city: expect.any(String) }, { city: expect.any(String) }]);
    });

    it('of the vendor stand beside our own and are not called', async () => {
      const tools = [{ type: 'web_search_20250305', name: 'web_search' }, weather] as Anthropic.ToolUnion[];
      const message = await ask('[[sim tokens=2 seed=1]]', { tools });
      expect(message.content).toMatchObject([{ type: 'text', text: referenceText(1, 0, 2) }]);
    });
  });

  describe('output', () => {
    it('follows a JSON schema', async () => {
      const schema = {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 120 } },
        required: ['name', 'age'],
        additionalProperties: false,
      };
      const { content } = await ask('[[sim seed=5]]', {
        output_config: { format: { type: 'json_schema', schema } },
      });
      const [block] = content;
      expect(JSON.parse(block?.type === 'text' ? block.text : '')).toEqual({
        name: expect.any(String),
        age: expect.any(Number),
      });
    });

    it('has thinking with a signature before the text, which comes back on the next turn', async () => {
      const prompt = '[[sim tokens=3 seed=4 reasoning=5]]';
      const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
      const expected = [
        { type: 'thinking', thinking: referenceText(5, 0, 5), signature: expect.stringMatching(/./) },
        { type: 'text', text: referenceText(4, 0, 3) },
      ];
      const single = await ask(prompt, { thinking, max_tokens: 2000 });
      expect(single.content).toMatchObject(expected);
      expect(single.usage.output_tokens).toBe(8);
      const stream = await streamed(prompt, { thinking, max_tokens: 2000 });
      expect(stream.content).toMatchObject(expected);
      const next = await ask('', {
        thinking,
        messages: [
          { role: 'user', content: prompt },
          { role: 'assistant', content: single.content },
          { role: 'user', content: '[[sim tokens=1 seed=9 reasoning=0]]' },
        ],
      });
      expect(next.content.at(-1)).toMatchObject({ text: referenceText(9, 0, 1) });
    });
  });

  describe('a thread', () => {
    it('continues a conversation, turn by turn', async () => {
      // The older SDK has none.
      if (version !== '1') return;
      const thread = client().beta.messages.thread({ model: 'sim', max_tokens: 100 });
      const used: number[] = [];
      for (const seed of [1, 2, 3]) {
        const content = `[[sim tokens=3 seed=${seed}]]`;
        const answer = await thread.send({ role: 'user', content });
        expect(answer.content).toMatchObject([{ type: 'text', text: referenceText(seed, 0, 3) }]);
        used.push(answer.usage.input_tokens);
      }
      expect(used).toEqual([...new Set(used)].sort((one, other) => one - other));
      expect(thread.messages).toHaveLength(6);
    });
  });

  describe('counting', () => {
    it('tells the tokens that a request would then use', async () => {
      const { max_tokens: _, ...body } = plain('[[sim tokens=1]] and a longer question with some words');
      const counted = await client().messages.countTokens({ ...body, tools: [weather] });
      const used = await ask('[[sim tokens=1]] and a longer question with some words', { tools: [weather] });
      expect(counted.input_tokens).toBe(used.usage.input_tokens);
    });
  });

  describe('models', () => {
    it('are listed over pages and found one by one', async () => {
      const page = await client().models.list({ limit: 2 });
      expect(page.data).toHaveLength(2);
      expect(page.hasNextPage()).toBe(true);
      const { items } = await drain(client().models.list({ limit: 1 }));
      expect(items.map(({ id }) => id)).toEqual(listedModels);
      const model = await client().models.retrieve('org/name:v1');
      expect(model).toMatchObject({
        type: 'model',
        id: 'org/name:v1',
        created_at: expect.stringMatching(/^2026-01-02T00:00:00(\.000)?Z$/),
      });
      expect(await client().models.retrieve('sim')).toMatchObject({
        display_name: 'Simulated',
        max_input_tokens: 8192,
        max_tokens: 4096,
      });
    });

    it('are those that the key may use', async () => {
      const { items } = await drain(clientWith(installation.narrowKey).models.list());
      expect(items.map(({ id }) => id)).toEqual(['sim', 'org/name:v1']);
    });
  });

  describe('errors', () => {
    const mistakes = [
      {
        what: 'a wrong key',
        run: () => clientWith('sk-wrong').messages.create(plain('hello')),
        errorClass: () => Sdk.AuthenticationError,
        facts: { status: 401, type: 'authentication_error' },
      },
      {
        what: 'a wrong key that lists models',
        run: () => clientWith('sk-wrong').models.list(),
        errorClass: () => Sdk.AuthenticationError,
        facts: { status: 401, type: 'authentication_error' },
      },
      {
        what: 'an unknown model',
        run: () => ask('hello', { model: 'nobody' }),
        errorClass: () => Sdk.NotFoundError,
        facts: { status: 404, type: 'not_found_error' },
      },
      {
        what: 'an unknown model that is counted',
        run: () => client().messages.countTokens({ model: 'nobody', messages: plain('hello').messages }),
        errorClass: () => Sdk.NotFoundError,
        facts: { status: 404, type: 'not_found_error' },
      },
      {
        what: 'an unknown model that is looked up',
        run: () => client().models.retrieve('nobody'),
        errorClass: () => Sdk.NotFoundError,
        facts: { status: 404, type: 'not_found_error' },
      },
      {
        what: 'a model that the key may not use',
        run: () => clientWith(installation.narrowKey).messages.create({ ...plain('hello'), model: 'secret' }),
        errorClass: () => Sdk.PermissionDeniedError,
        facts: { status: 403, type: 'permission_error' },
      },
      ...[
        { what: 'no messages', more: { messages: [] } },
        { what: 'no room for an answer', more: { max_tokens: -1 } },
        { what: 'too much heat', more: { temperature: 9 } },
        { what: 'a tool without a name', more: { tools: [{ ...weather, name: '' }] } },
      ].map(({ what, more }) => ({
        what,
        run: () => ask('hello', more),
        errorClass: () => Sdk.BadRequestError,
        facts: { status: 400, type: 'invalid_request_error' },
      })),
      {
        what: 'a body of a wrong shape',
        run: () =>
          client().post('/v1/messages', { body: { model: 'sim', max_tokens: 5, messages: 'hello' } }),
        errorClass: () => Sdk.BadRequestError,
        facts: { status: 400, type: 'invalid_request_error' },
      },
      {
        what: 'a path that is not served',
        run: () => client().post('/v1/messages/batches', { body: {} }),
        errorClass: () => Sdk.NotFoundError,
        facts: { status: 404, type: 'not_found_error' },
      },
      ...[500, 502, 503, 504].map((status) => ({
        what: `a model that fails with ${status}`,
        run: () => ask(`[[sim error=${status}]]`),
        errorClass: () => Sdk.InternalServerError,
        facts: { status, type: status === 504 ? 'timeout_error' : 'api_error' },
      })),
    ];
    it.each(mistakes)('are of the right class for $what', async ({ run, errorClass, facts }) => {
      const error = await rejection(run());
      expect(error).toBeInstanceOf(errorClass());
      expect(error).toMatchObject({ ...facts, requestID: expect.stringMatching(/\w{8,}/) });
    });

    it('have classes of their own where the newer SDK knows them', async () => {
      if (version !== '1') return;
      expect(await rejection(ask('[[sim error=402]]'))).toBeInstanceOf(Anthropic.PaymentRequiredError);
      expect(await rejection(ask('[[sim error=413]]'))).toBeInstanceOf(Anthropic.ContentTooLargeError);
      expect(await rejection(ask('[[sim error=503]]'))).toBeInstanceOf(Anthropic.ServiceUnavailableError);
      expect(await rejection(ask('[[sim error=504]]'))).toBeInstanceOf(Anthropic.GatewayTimeoutError);
    });

    it('say when to come back where a limit is reached', async () => {
      const error = await rejection(clientWith(installation.spentKey).messages.create(plain('hello')));
      expect(error).toBeInstanceOf(Sdk.RateLimitError);
      expect(error).toMatchObject({ type: 'rate_limit_error' });
      const { headers } = error as InstanceType<typeof Anthropic.RateLimitError>;
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
    });

    it('are foreseen by what is told of the rates', async () => {
      const rated = clientWith(installation.ratedKey);
      const { response } = await rated.messages.create(plain('hello')).withResponse();
      const told = (name: string) => response.headers.get(`anthropic-ratelimit-${name}`);
      expect(told('requests-limit')).toBe('50');
      expect(Number(told('requests-remaining'))).toBeLessThan(50);
      expect(told('tokens-limit')).toBe('100000');
      expect(Number(told('tokens-remaining'))).toBeLessThan(100_000);
      expect(Date.parse(told('tokens-reset') ?? '')).toBeGreaterThan(Date.now());
    });

    it('before the first token have a status in a stream too', async () => {
      const error = await rejection(streamed('[[sim error=unavailable]]'));
      expect(error).toBeInstanceOf(Sdk.InternalServerError);
      expect(error).toMatchObject({ status: 503 });
    });

    it('in the middle of a stream are thrown with their type and without a status', async () => {
      const parameters = plain('[[sim tokens=9 seed=7 error=unavailable@3]]');
      const { items, error } = await drain(await client().messages.create({ ...parameters, stream: true }));
      const deltas = items.map((event) =>
        event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
      );
      expect(deltas.join('')).toBe(referenceText(7, 0, 3));
      for (const thrown of [error, await rejection(client().messages.stream(parameters).finalMessage())]) {
        expect(thrown).toBeInstanceOf(Sdk.APIError);
        expect(thrown).toMatchObject({ status: undefined, type: 'overloaded_error' });
      }
    });
  });

  describe('leaving', () => {
    it('in the middle of a stream ends the generation', async () => {
      const stream = client().messages.stream(plain('[[sim tokens=900 gap=20ms]]'));
      stream.on('text', () => stream.abort());
      expect(await rejection(stream.finalMessage())).toBeInstanceOf(Sdk.APIUserAbortError);
      await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 0);
    });
  });
});
