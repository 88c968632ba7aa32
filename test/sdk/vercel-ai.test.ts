import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { referenceText } from '@sluice/engines';
import {
  APICallError,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  Output,
  streamText,
  tool,
} from 'ai';
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rejection, type SdkGateway, startSdkGateway, weatherSchema } from '../support/sdk-gateway.ts';

let installation: SdkGateway;
beforeAll(async () => {
  installation = await startSdkGateway();
});
afterAll(() => installation.stop());

type ModelFactory = (apiKey: string, model?: string) => LanguageModel;

const providers: { name: string; modelOf: ModelFactory }[] = [
  {
    name: 'openai-compatible',
    modelOf: (apiKey, model = 'sim') =>
      createOpenAICompatible({
        name: 'sluice',
        baseURL: `${installation.baseUrl}/v1`,
        apiKey,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(model),
  },
  {
    name: 'anthropic',
    modelOf: (apiKey, model = 'sim') =>
      createAnthropic({ baseURL: `${installation.baseUrl}/v1`, apiKey })(model),
  },
  {
    // That of AI SDK 6. It reads single answers more strictly than its successor does.
    name: 'anthropic, version 3',
    modelOf: (apiKey, model = 'sim') =>
      createAnthropic3({ baseURL: `${installation.baseUrl}/v1`, apiKey })(model),
  },
  {
    name: 'google',
    modelOf: (apiKey, model = 'sim') =>
      createGoogleGenerativeAI({ baseURL: `${installation.baseUrl}/v1beta`, apiKey })(model),
  },
];

describe.each(providers)('the AI SDK with its provider $name', ({ modelOf }) => {
  const options = () => ({ model: modelOf(installation.apiKey), maxRetries: 0, maxOutputTokens: 100 });
  const weather = tool({
    inputSchema: jsonSchema<{ city: string }>(weatherSchema),
    execute: async ({ city }) => `sunny in ${city}`,
  });

  it('generates text, with its usage and its reason to end', async () => {
    const result = await generateText({ ...options(), prompt: '[[sim tokens=20 seed=7]]' });
    expect(result.text).toBe(referenceText(7, 0, 20));
    expect(result.finishReason).toBe('stop');
    expect(result.usage.outputTokens).toBe(20);
    expect(result.usage.inputTokens).toBeGreaterThan(0);
  });

  it('streams the same text with the same usage', async () => {
    const prompt = '[[sim tokens=20 seed=7]]';
    const result = streamText({ ...options(), prompt });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    expect(text).toBe(referenceText(7, 0, 20));
    expect(await result.finishReason).toBe('stop');
    expect((await result.usage).outputTokens).toBe(20);
    const single = await generateText({ ...options(), prompt });
    expect((await result.usage).inputTokens).toBe(single.usage.inputTokens);
  });

  it('ends at the output limit and before a stop sequence', async () => {
    const words = referenceText(7, 0, 20).split(' ');
    const short = await generateText({
      ...options(),
      prompt: '[[sim tokens=20 seed=7]]',
      maxOutputTokens: 4,
    });
    expect(short).toMatchObject({ text: referenceText(7, 0, 4), finishReason: 'length' });
    const stopped = await generateText({
      ...options(),
      prompt: '[[sim tokens=20 seed=7]]',
      stopSequences: [` ${words[3]}`],
    });
    expect(stopped).toMatchObject({ text: words.slice(0, 3).join(' '), finishReason: 'stop' });
  });

  it('runs a tool loop to its end, whole and streamed', async () => {
    const loop = {
      ...options(),
      system: 'Use your tools.',
      prompt: '[[sim tokens=4 seed=2 tool=get_weather]]',
      tools: { get_weather: weather },
      stopWhen: isStepCount(3),
    };
    const result = await generateText(loop);
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(result.steps[0]?.toolResults).toMatchObject([
      { toolName: 'get_weather', output: expect.stringMatching(/^sunny in /) },
    ]);
    expect(result.text).toBe(referenceText(2, 0, 4));
    const stream = streamText(loop);
    expect(await stream.text).toBe(referenceText(2, 0, 4));
    expect((await stream.steps)[0]?.toolCalls).toMatchObject([
      { toolName: 'get_weather', input: { city: expect.any(String) } },
    ]);
  });

  it('calls a tool that is forced', async () => {
    const result = await generateText({
      ...options(),
      prompt: '[[sim seed=2]]',
      tools: { get_weather: weather },
      toolChoice: { type: 'tool', toolName: 'get_weather' },
    });
    expect(result.toolCalls).toMatchObject([
      { toolName: 'get_weather', input: { city: expect.any(String) } },
    ]);
  });

  it('generates an object that fits its schema', async () => {
    const { output } = await generateText({
      ...options(),
      prompt: '[[sim seed=5]]',
      output: Output.object({ schema: jsonSchema<{ city: string }>(weatherSchema) }),
    });
    expect(output).toEqual({ city: expect.any(String) });
  });

  it('throws the status and the words of an error', async () => {
    const prompt = 'hello';
    const cases = [
      { model: modelOf('sk-wrong'), status: 401, isRetryable: false },
      { model: modelOf(installation.apiKey, 'nobody'), status: 404, isRetryable: false },
      { model: modelOf(installation.narrowKey, 'secret'), status: 403, isRetryable: false },
      { model: modelOf(installation.spentKey), status: 429, isRetryable: true },
    ];
    for (const { model, status, isRetryable } of cases) {
      const error = await rejection(generateText({ ...options(), model, prompt }));
      if (!APICallError.isInstance(error)) throw error;
      expect(error).toMatchObject({ statusCode: status, isRetryable });
      const body = JSON.parse(error.responseBody ?? '') as { error: { message: string } };
      expect(error.message).toBe(body.error.message);
    }
  });

  it('has an error part where a stream breaks off, after the text before it', async () => {
    const errors: unknown[] = [];
    const result = streamText({
      ...options(),
      prompt: '[[sim tokens=9 seed=7 error=unavailable@3]]',
      onError: ({ error }) => void errors.push(error),
    });
    let text = '';
    for await (const part of result.fullStream) if (part.type === 'text-delta') text += part.text;
    expect(text).toBe(referenceText(7, 0, 3));
    expect(errors).toHaveLength(1);
  });
});
