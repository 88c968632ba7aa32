import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ChatOpenAI } from '@langchain/openai';
import { referenceText } from '@sluice/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rejection, type SdkGateway, startSdkGateway, weatherSchema } from '../support/sdk-gateway.ts';

let installation: SdkGateway;
beforeAll(async () => {
  installation = await startSdkGateway();
});
afterAll(() => installation.stop());

type ModelFactory = (apiKey: string, model?: string) => BaseChatModel;

const models: { name: string; modelOf: ModelFactory }[] = [
  {
    name: 'ChatOpenAI',
    modelOf: (apiKey, model = 'sim') =>
      new ChatOpenAI({
        model,
        apiKey,
        maxRetries: 0,
        configuration: { baseURL: `${installation.baseUrl}/v1` },
      }),
  },
  {
    name: 'ChatAnthropic',
    modelOf: (apiKey, model = 'sim') =>
      new ChatAnthropic({
        model,
        apiKey,
        maxRetries: 0,
        maxTokens: 1000,
        anthropicApiUrl: installation.baseUrl,
      }),
  },
  {
    name: 'ChatGoogleGenerativeAI',
    modelOf: (apiKey, model = 'sim') =>
      new ChatGoogleGenerativeAI({ model, apiKey, maxRetries: 0, baseUrl: installation.baseUrl }),
  },
];

const weather = tool(({ city }: { city: string }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: weatherSchema,
});

describe.each(models)('the LangChain model $name', ({ modelOf }) => {
  it('answers whole, with its usage', async () => {
    const answer = await modelOf(installation.apiKey).invoke([
      new SystemMessage('Be brief.'),
      new HumanMessage('[[sim tokens=20 seed=7]]'),
    ]);
    expect(answer.text).toBe(referenceText(7, 0, 20));
    expect(answer.usage_metadata).toMatchObject({ output_tokens: 20 });
  });

  it('streams the same text', async () => {
    let whole = new AIMessageChunk('');
    for await (const chunk of await modelOf(installation.apiKey).stream('[[sim tokens=20 seed=7]]')) {
      whole = whole.concat(chunk);
    }
    expect(whole.text).toBe(referenceText(7, 0, 20));
    expect(whole.usage_metadata).toMatchObject({ output_tokens: 20 });
  });

  it('calls a tool, whole and streamed, and answers its result in text', async () => {
    const model = modelOf(installation.apiKey).bindTools?.([weather]);
    if (!model) throw new TypeError('the model takes no tools');
    const question = new HumanMessage('[[sim tokens=4 seed=2 tool=get_weather]]');
    const expected = { name: 'get_weather', args: { city: expect.any(String) } };
    const answer = await model.invoke([question]);
    expect(answer.tool_calls).toMatchObject([expected]);

    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([question])) streamed = streamed?.concat(chunk) ?? chunk;
    expect(streamed?.tool_calls).toMatchObject([expected]);

    const [call] = answer.tool_calls ?? [];
    if (!call) throw new TypeError('the model called no tool');
    const result = new ToolMessage({ content: 'sunny', tool_call_id: call.id ?? '' });
    expect((await model.invoke([question, answer, result])).text).toBe(referenceText(2, 0, 4));
  });

  it('rejects what the gateway refuses, with its status', async () => {
    const cases = [
      { model: modelOf('sk-wrong'), status: 401 },
      { model: modelOf(installation.apiKey, 'nobody'), status: 404 },
      { model: modelOf(installation.spentKey), status: 429 },
    ];
    for (const { model, status } of cases) {
      expect(await rejection(model.invoke('hello'))).toMatchObject({ status });
    }
  });
});
