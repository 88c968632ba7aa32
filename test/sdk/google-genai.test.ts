import { type Content, type GenerateContentConfig, GoogleGenAI } from '@google/genai';
import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import { GoogleGenAI as GoogleGenAI1 } from 'google-genai-1';
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

// The older SDK calls /v1beta, the newer one /v1. What is used here has the same types in both.
const generations = [
  { version: '3', Sdk: GoogleGenAI },
  { version: '1', Sdk: GoogleGenAI1 as unknown as typeof GoogleGenAI },
];

const weather = { name: 'get_weather', parametersJsonSchema: weatherSchema };
const clock = { name: 'get_time' };

describe.each(generations)('the generate-content SDK $version', ({ Sdk, version }) => {
  const clientWith = (apiKey: string) => new Sdk({ apiKey, httpOptions: { baseUrl: installation.baseUrl } });
  const client = () => clientWith(installation.apiKey);
  const ask = (contents: string | Content[], config: GenerateContentConfig = {}, model = 'sim') =>
    client().models.generateContent({ model, contents, config });
  const stream = (contents: string, config: GenerateContentConfig = {}) =>
    client().models.generateContentStream({ model: 'sim', contents, config });

  describe('text', () => {
    it('is the same as one body and as a stream', async () => {
      const prompt = '[[sim tokens=20 seed=7]]';
      const text = referenceText(7, 0, 20);
      const single = await ask(prompt);
      expect(single.text).toBe(text);
      expect(single).toMatchObject({
        modelVersion: 'sim',
        responseId: expect.stringMatching(/\w{8,}/),
        candidates: [{ index: 0, content: { role: 'model' }, finishReason: 'STOP' }],
      });
      const { items } = await drain(await stream(prompt));
      expect(items.map((chunk) => chunk.text ?? '').join('')).toBe(text);
      const reasons = items.map((chunk) => chunk.candidates?.[0]?.finishReason);
      expect(reasons.filter((reason) => reason !== undefined)).toEqual(['STOP']);
      expect(items.at(-1)?.usageMetadata).toEqual(single.usageMetadata);
    });

    it('answers under an alias and under an id with a slash and a colon', async () => {
      expect((await ask('[[sim tokens=1]]', {}, 'gemini-9-pro')).modelVersion).toBe('gemini-9-pro');
      expect((await ask('[[sim tokens=1]]', {}, 'org/name:v1')).modelVersion).toBe('org/name:v1');
    });

    it('goes on after a system instruction and several turns', async () => {
      const contents: Content[] = [
        { role: 'user', parts: [{ text: 'first' }] },
        { role: 'model', parts: [{ text: 'an answer' }] },
        { role: 'user', parts: [{ text: 'and then ' }, { text: '[[sim tokens=5 seed=3]]' }] },
      ];
      const answer = await ask(contents, { systemInstruction: 'Be brief.' });
      expect(answer.text).toBe(referenceText(3, 0, 5));
      // The token count shows what the model was given: every turn, and the instruction.
      const others = await Promise.all([ask(contents.slice(2)), ask(contents)]);
      const counted = [...others, answer].map(({ usageMetadata }) => usageMetadata?.promptTokenCount ?? NaN);
      expect(counted).toEqual([...new Set(counted)].sort((left, right) => left - right));
    });

    it('is a conversation in the chats of the SDK, whole and streamed', async () => {
      const chat = client().chats.create({ model: 'sim' });
      expect((await chat.sendMessage({ message: '[[sim tokens=2 seed=1]]' })).text).toBe(
        referenceText(1, 0, 2),
      );
      const { items } = await drain(await chat.sendMessageStream({ message: '[[sim tokens=3 seed=2]]' }));
      expect(items.map((chunk) => chunk.text ?? '').join('')).toBe(referenceText(2, 0, 3));
      const [first, second, third, ...chunks] = chat.getHistory();
      expect([first?.role, second?.role, third?.role]).toEqual(['user', 'model', 'user']);
      expect(chunks.flatMap(({ parts }) => parts?.map(({ text }) => text)).join('')).toBe(
        referenceText(2, 0, 3),
      );
      expect((await chat.sendMessage({ message: '[[sim tokens=2 seed=3]]' })).text).toBe(
        referenceText(3, 0, 2),
      );
    });

    it('ends before a stop sequence', async () => {
      const words = referenceText(7, 0, 20).split(' ');
      const config = { stopSequences: [`${words[3]} ${words[4]}`] };
      const text = `${words.slice(0, 3).join(' ')} `;
      const single = await ask('[[sim tokens=20 seed=7]]', config);
      expect(single.text).toBe(text);
      expect(single.candidates?.[0]?.finishReason).toBe('STOP');
      const { items } = await drain(await stream('[[sim tokens=20 seed=7]]', config));
      expect(items.map((chunk) => chunk.text ?? '').join('')).toBe(text);
    });

    it('ends at the output limit, and a limit beyond the model is clamped', async () => {
      const single = await ask('[[sim tokens=20 seed=7]]', { maxOutputTokens: 4 });
      expect(single.text).toBe(referenceText(7, 0, 4));
      expect(single).toMatchObject({
        candidates: [{ finishReason: 'MAX_TOKENS' }],
        usageMetadata: { candidatesTokenCount: 4 },
      });
      const { items } = await drain(await stream('[[sim tokens=20 seed=7]]', { maxOutputTokens: 4 }));
      expect(items.map((chunk) => chunk.text ?? '').join('')).toBe(referenceText(7, 0, 4));
      expect(items.at(-1)?.candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
      const long = await ask('[[sim tokens=5000]]', { maxOutputTokens: 1_000_000 });
      expect(long.usageMetadata?.candidatesTokenCount).toBe(4096);
    });

    it('has a usage that adds up', async () => {
      const { usageMetadata } = await ask('[[sim tokens=20]]');
      expect(usageMetadata?.candidatesTokenCount).toBe(20);
      expect(usageMetadata?.totalTokenCount).toBe((usageMetadata?.promptTokenCount ?? 0) + 20);
    });
  });

  describe('functions', () => {
    const tools = [{ functionDeclarations: [clock, weather] }];
    const calling = (mode: string, allowedFunctionNames?: string[]) =>
      ({
        tools,
        toolConfig: {
          functionCallingConfig: { mode, ...(allowedFunctionNames && { allowedFunctionNames }) },
        },
      }) as GenerateContentConfig;
    const names = (answer: { functionCalls?: { name?: string }[] | undefined }) =>
      answer.functionCalls?.map(({ name }) => name);

    it('are called when any is required, by name, and when the model wants to', async () => {
      expect(names(await ask('[[sim seed=1]]', calling('ANY')))).toEqual(['get_time']);
      const named = await ask('[[sim seed=1]]', calling('ANY', ['get_weather']));
      const auto = await ask('[[sim seed=1 tool=get_weather]]', calling('AUTO'));
      for (const answer of [named, auto]) {
        expect(answer.functionCalls).toMatchObject([
          {
            id: expect.stringMatching(/./),
            name: 'get_weather',
            args: { city: expect.any(String) },
          },
        ]);
        expect(answer.candidates?.[0]?.finishReason).toBe('STOP');
      }
    });

    it('are left alone when the mode is NONE', async () => {
      const answer = await ask('[[sim tokens=3 seed=1 tool=get_weather]]', calling('NONE'));
      expect(answer.functionCalls).toBeUndefined();
      expect(answer.text).toBe(referenceText(1, 0, 3));
    });

    it('are called in parallel, and whole in a stream', async () => {
      const prompt = '[[sim seed=1 tool=get_weather,get_time]]';
      const single = await ask(prompt, { tools });
      expect(names(single)).toEqual(['get_weather', 'get_time']);
      const { items } = await drain(await stream(prompt, { tools }));
      expect(items.flatMap((chunk) => chunk.functionCalls ?? [])).toEqual(single.functionCalls);
    });

    it('take declarations in the upper-case schema of the API', async () => {
      const parameters = {
        type: 'OBJECT',
        properties: { city: { type: 'STRING', nullable: false }, days: { type: 'INTEGER', minimum: 1 } },
        required: ['city', 'days'],
      };
      const config = {
        ...calling('ANY'),
        tools: [{ functionDeclarations: [{ name: 'forecast', parameters }] }],
      } as GenerateContentConfig;
      const answer = await ask('[[sim seed=1]]', config);
      expect(answer.functionCalls?.[0]?.args).toEqual({ city: expect.any(String), days: expect.any(Number) });
    });

    it('give responses that the model answers in text, with and without ids', async () => {
      const prompt: Content = {
        role: 'user',
        parts: [{ text: '[[sim tokens=4 seed=2 tool=get_weather,get_time]]' }],
      };
      const first = await ask([prompt], { tools });
      const model = first.candidates?.[0]?.content;
      if (!model) throw new TypeError('expected the content of the first answer');
      for (const hasIds of [true, false]) {
        const responses: Content = {
          role: 'user',
          parts: (first.functionCalls ?? []).map(({ id, name }) => ({
            functionResponse: {
              ...(hasIds && id !== undefined && { id }),
              ...(name !== undefined && { name }),
              response: { output: 'sunny' },
            },
          })),
        };
        const second = await ask([prompt, model, responses], { tools });
        expect(second.text).toBe(referenceText(2, 0, 4));
      }
    });

    it('are run by the SDK itself when they can be called', async () => {
      const seen: unknown[] = [];
      const tool = {
        tool: async () => ({ functionDeclarations: [weather] }),
        callTool: async (calls: { args?: object; name?: string }[]) => {
          seen.push(...calls.map(({ args }) => args));
          return calls.map(({ name }) => ({
            functionResponse: { name: name ?? '', response: { output: 'sunny' } },
          }));
        },
      };
      const answer = await ask('[[sim tokens=4 seed=2 tool=get_weather]]', { tools: [tool] });
      expect(answer.text).toBe(referenceText(2, 0, 4));
      expect(seen).toEqual([{ city: expect.any(String) }]);
    });
  });

  describe('output', () => {
    const properties = { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 120 } };
    const schema = { type: 'object', properties, required: ['name', 'age'] };
    const upperCase = {
      type: 'OBJECT',
      properties: { name: { type: 'STRING' }, age: { type: 'INTEGER', minimum: 0, maximum: 120 } },
      required: ['name', 'age'],
    };

    it('follows a schema in either of its spellings', async () => {
      for (const field of [{ responseJsonSchema: schema }, { responseSchema: upperCase }]) {
        const config = { responseMimeType: 'application/json', ...field } as GenerateContentConfig;
        const { text } = await ask('[[sim seed=5]]', config);
        expect(JSON.parse(text ?? '')).toEqual({ name: expect.any(String), age: expect.any(Number) });
      }
    });

    it('has thoughts before the text where they are asked for, and counts them apart', async () => {
      const prompt = '[[sim tokens=3 seed=4 reasoning=5]]';
      const answer = await ask(prompt, { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } });
      expect(answer.candidates?.[0]?.content?.parts).toMatchObject([
        { thought: true, text: referenceText(5, 0, 5) },
        { text: referenceText(4, 0, 3) },
      ]);
      expect(answer.text).toBe(referenceText(4, 0, 3));
      expect(answer.usageMetadata).toMatchObject({ candidatesTokenCount: 3, thoughtsTokenCount: 5 });
      const without = await ask(prompt);
      expect(without.candidates?.[0]?.content?.parts).toMatchObject([{ text: referenceText(4, 0, 3) }]);
    });

    it('comes in several candidates that differ, whole or streamed', async () => {
      const config = { candidateCount: 3, seed: 40 };
      const texts = [40, 41, 42].map((seed) => referenceText(seed, 0, 6));
      const single = await ask('[[sim tokens=6]]', config);
      expect(single.candidates?.map(({ content }) => content?.parts?.[0]?.text)).toEqual(texts);
      expect(single.usageMetadata?.candidatesTokenCount).toBe(18);
      const { items } = await drain(await stream('[[sim tokens=6]]', config));
      const joined = ['', '', ''];
      for (const { index, content } of items.flatMap((chunk) => chunk.candidates ?? [])) {
        joined[index ?? 0] += content?.parts?.map(({ text }) => text ?? '').join('') ?? '';
      }
      expect(joined).toEqual(texts);
    });
  });

  describe('counting', () => {
    it('tells the tokens that a request would then use', async () => {
      const contents = '[[sim tokens=1]] and a longer question with some words';
      const counted = await client().models.countTokens({ model: 'sim', contents });
      expect(counted.totalTokens).toBe((await ask(contents)).usageMetadata?.promptTokenCount);
    });
  });

  describe('models', () => {
    it('are listed over pages and found one by one', async () => {
      const pager = await client().models.list({ config: { pageSize: 2 } });
      expect(pager.page).toHaveLength(2);
      const { items } = await drain(pager);
      expect(items.map(({ name }) => name)).toEqual(listedModels.map((id) => `models/${id}`));
      const model = await client().models.get({ model: 'sim' });
      expect(model).toMatchObject({
        name: 'models/sim',
        displayName: 'Simulated',
        inputTokenLimit: expect.any(Number),
        outputTokenLimit: 4096,
        supportedActions: expect.arrayContaining(['generateContent', 'countTokens']),
      });
      expect((await client().models.get({ model: 'models/org/name:v1' })).name).toBe('models/org/name:v1');
    });

    it('are those that the key may use', async () => {
      const { items } = await drain(await clientWith(installation.narrowKey).models.list());
      expect(items.map(({ name }) => name)).toEqual(['models/sim', 'models/org/name:v1']);
    });
  });

  describe('errors', () => {
    const mistakes = [
      {
        what: 'a wrong key',
        run: () => clientWith('sk-wrong').models.generateContent({ model: 'sim', contents: 'hello' }),
        error: { code: 401, status: 'UNAUTHENTICATED' },
      },
      {
        what: 'a wrong key that lists models',
        run: () => clientWith('sk-wrong').models.list(),
        error: { code: 401, status: 'UNAUTHENTICATED' },
      },
      {
        what: 'an unknown model',
        run: () => ask('hello', {}, 'nobody'),
        error: { code: 404, status: 'NOT_FOUND' },
      },
      {
        what: 'an unknown model that is counted',
        run: () => client().models.countTokens({ model: 'nobody', contents: 'hello' }),
        error: { code: 404, status: 'NOT_FOUND' },
      },
      {
        what: 'an unknown model that is looked up',
        run: () => client().models.get({ model: 'nobody' }),
        error: { code: 404, status: 'NOT_FOUND' },
      },
      {
        what: 'a model that the key may not use',
        run: () =>
          clientWith(installation.narrowKey).models.generateContent({ model: 'secret', contents: 'hello' }),
        error: { code: 403, status: 'PERMISSION_DENIED' },
      },
      ...[
        { what: 'less than no heat', config: { temperature: -1 } },
        { what: 'too many candidates', config: { candidateCount: 1000 } },
        {
          what: 'a function to call that is not declared',
          config: {
            tools: [{ functionDeclarations: [clock] }],
            toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['other'] } },
          } as GenerateContentConfig,
        },
      ].map(({ what, config }) => ({
        what,
        run: () => ask('hello', config),
        error: { code: 400, status: 'INVALID_ARGUMENT' },
      })),
      {
        what: 'a body of a wrong shape',
        run: () => ask('hello', { httpOptions: { extraBody: { contents: [5] } } }),
        error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining('contents') },
      },
      {
        what: 'a model that fails inside',
        run: () => ask('[[sim error=500]]'),
        error: { code: 500, status: 'INTERNAL' },
      },
      {
        what: 'a model that is away',
        run: () => ask('[[sim error=503]]'),
        error: { code: 503, status: 'UNAVAILABLE' },
      },
      {
        what: 'a model that is too late',
        run: () => ask('[[sim error=504]]'),
        error: { code: 504, status: 'DEADLINE_EXCEEDED' },
      },
    ];
    it.each(mistakes)('have the status and the body of $what', async ({ run, error }) => {
      expect(errorFacts(await rejection(run()))).toMatchObject({ status: error.code, body: { error } });
    });

    it('say when to come back where a limit is reached', async () => {
      const spent = clientWith(installation.spentKey);
      const error = await rejection(spent.models.generateContent({ model: 'sim', contents: 'hello' }));
      expect(errorFacts(error)).toMatchObject({
        status: 429,
        body: {
          error: {
            code: 429,
            status: 'RESOURCE_EXHAUSTED',
            details: expect.arrayContaining([
              expect.objectContaining({
                '@type': 'type.googleapis.com/google.rpc.RetryInfo',
                retryDelay: expect.stringMatching(/^\d+(\.\d+)?s$/),
              }),
            ]),
          },
        },
      });
    });

    it('before the first token have a status in a stream too', async () => {
      expect(errorFacts(await rejection(stream('[[sim error=unavailable]]')))).toMatchObject({ status: 503 });
    });

    it('in the middle of a stream are thrown with their status, by the SDK that reads them', async () => {
      const { items, error } = await drain(await stream('[[sim tokens=9 seed=7 error=unavailable@3]]'));
      expect(items.map((chunk) => chunk.text ?? '').join('')).toBe(referenceText(7, 0, 3));
      // The older SDK yields the error as a chunk without candidates; only the missing finish reason shows it.
      expect(items.some((chunk) => chunk.candidates?.[0]?.finishReason)).toBe(false);
      if (version === '3') expect(error).toMatchObject({ name: 'ApiError', status: 503 });
    });
  });

  describe('leaving', () => {
    it('in the middle of a stream ends the generation', async () => {
      const leave = new AbortController();
      const chunks = await stream('[[sim tokens=900 gap=20ms]]', { abortSignal: leave.signal });
      let count = 0;
      const rejected = rejection(
        (async () => {
          for await (const _ of chunks) {
            count += 1;
            leave.abort();
          }
        })(),
      );
      expect(await rejected).toMatchObject({ name: 'AbortError' });
      expect(count).toBeGreaterThan(0);
      await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 0);
    });

    it('by an abort rejects', async () => {
      const leave = new AbortController();
      const rejected = rejection(ask('[[sim stall@1]]', { abortSignal: leave.signal }));
      await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 1);
      leave.abort();
      expect(await rejected).toMatchObject({ name: 'AbortError' });
      await until(async () => (await installation.gateway.metric('sluice_requests_in_flight')) === 0);
    });
  });
});

/** The SDK puts the body into the message of its only error class. */
function errorFacts(error: unknown): { status: unknown; body: unknown } {
  if (!(error instanceof Error) || !('status' in error)) throw error;
  expect(error.name).toBe('ApiError');
  return { status: error.status, body: JSON.parse(error.message) };
}
