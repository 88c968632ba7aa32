import Anthropic from '@anthropic-ai/sdk';
import { type Content, type GenerateContentParameters, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { Format } from '../support/call.ts';
import { weatherSchema } from '../support/sdk-gateway.ts';

/** A question, independent of any format. */
export interface Question {
  prompt: string;
  /** Declares `get_weather` and `get_time`; `get_weather` must be called where it is `forced`. */
  tools?: 'auto' | 'forced';
  /** Wants one call at most, which generate content can't say. */
  isSingleCall?: boolean;
  /** The conversation goes on: the prompt was answered by a call, whose result is included. */
  hasResult?: boolean;
  /** Wants JSON of `weatherSchema`. */
  isJson?: boolean;
  isReasoning?: boolean;
  maxTokens?: number;
  stop?: string;
}

/** The answer, with the finish reason in the format's own words. */
export interface Told {
  text: string;
  reasoning: string;
  calls: { name: string; arguments: unknown }[];
  finish: string;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
}

export interface Target {
  baseUrl: string;
  apiKey: string;
  model: string;
}

/** Asks by the official SDK of each format, which also reads the answer. */
export const ask: Record<Format, (target: Target, question: Question, stream: boolean) => Promise<Told>> = {
  openai: askChat,
  anthropic: askMessages,
  gemini: askGenerate,
};

const weather = { name: 'get_weather', description: 'The weather.' };
const clock = { name: 'get_time', description: 'The time.' };
const callId = 'call_1';
const given = { city: 'Oslo' };
const result = 'sunny';

async function askChat(target: Target, question: Question, isStream: boolean): Promise<Told> {
  const client = new OpenAI({ baseURL: `${target.baseUrl}/v1`, apiKey: target.apiKey, maxRetries: 0 });
  const body: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'> = {
    model: target.model,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: question.prompt },
    ],
  };
  if (question.hasResult) {
    const call = { name: weather.name, arguments: JSON.stringify(given) };
    body.messages.push(
      { role: 'assistant', tool_calls: [{ id: callId, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: callId, content: result },
    );
  }
  if (question.tools) {
    body.tools = [
      { type: 'function', function: { ...weather, parameters: weatherSchema } },
      { type: 'function', function: clock },
    ];
  }
  if (question.tools === 'forced') {
    body.tool_choice = { type: 'function', function: { name: weather.name } };
  }
  if (question.isSingleCall) body.parallel_tool_calls = false;
  if (question.isJson) {
    body.response_format = { type: 'json_schema', json_schema: { name: 'it', schema: weatherSchema } };
  }
  if (question.isReasoning) body.reasoning_effort = 'high';
  if (question.maxTokens !== undefined) body.max_tokens = question.maxTokens;
  if (question.stop !== undefined) body.stop = question.stop;
  const completion = isStream
    ? await client.chat.completions
        .stream({ ...body, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await client.chat.completions.create(body);
  const [choice] = completion.choices;
  // An extension that the SDK does not know: it keeps it in bodies and overwrites it in streams.
  const reasoning = (choice?.message as { reasoning_content?: string } | undefined)?.reasoning_content;
  return {
    text: choice?.message.content ?? '',
    reasoning: isStream ? '' : (reasoning ?? ''),
    calls: (choice?.message.tool_calls ?? []).map((call) => {
      if (call.type !== 'function') throw new TypeError('expected a function call');
      return { name: call.function.name, arguments: JSON.parse(call.function.arguments) };
    }),
    finish: choice?.finish_reason ?? '',
    inputTokens: completion.usage?.prompt_tokens,
    outputTokens: completion.usage?.completion_tokens,
  };
}

async function askMessages(target: Target, question: Question, isStream: boolean): Promise<Told> {
  const client = new Anthropic({ baseURL: target.baseUrl, apiKey: target.apiKey, maxRetries: 0 });
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model: target.model,
    max_tokens: question.maxTokens ?? 4000,
    system: 'Be brief.',
    messages: [{ role: 'user', content: question.prompt }],
  };
  if (question.hasResult) {
    body.messages.push(
      { role: 'assistant', content: [{ type: 'tool_use', id: callId, name: weather.name, input: given }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content: result }] },
    );
  }
  if (question.tools) {
    body.tools = [
      { ...weather, input_schema: weatherSchema },
      // Servers of chat completions are told that there are no properties, and count that as input.
      { ...clock, input_schema: { type: 'object', properties: {} } },
    ];
  }
  if (question.tools === 'forced') body.tool_choice = { type: 'tool', name: weather.name };
  if (question.isSingleCall) body.tool_choice = { type: 'auto', disable_parallel_tool_use: true };
  if (question.isJson) body.output_config = { format: { type: 'json_schema', schema: weatherSchema } };
  if (question.isReasoning) body.thinking = { type: 'enabled', budget_tokens: 2000 };
  if (question.stop !== undefined) body.stop_sequences = [question.stop];
  const message = isStream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create(body);
  const told: Told = {
    text: '',
    reasoning: '',
    calls: [],
    finish: message.stop_reason ?? '',
    inputTokens: message.usage.input_tokens,
    outputTokens: message.usage.output_tokens,
  };
  for (const block of message.content) {
    if (block.type === 'text') told.text += block.text;
    if (block.type === 'thinking') told.reasoning += block.thinking;
    if (block.type === 'tool_use') told.calls.push({ name: block.name, arguments: block.input });
  }
  return told;
}

async function askGenerate(target: Target, question: Question, isStream: boolean): Promise<Told> {
  const client = new GoogleGenAI({ apiKey: target.apiKey, httpOptions: { baseUrl: target.baseUrl } });
  const contents: Content[] = [{ role: 'user', parts: [{ text: question.prompt }] }];
  if (question.hasResult) {
    const answer = { id: callId, name: weather.name, response: { output: result } };
    contents.push(
      { role: 'model', parts: [{ functionCall: { id: callId, name: weather.name, args: given } }] },
      { role: 'user', parts: [{ functionResponse: answer }] },
    );
  }
  const config: NonNullable<GenerateContentParameters['config']> = { systemInstruction: 'Be brief.' };
  if (question.tools) {
    config.tools = [{ functionDeclarations: [{ ...weather, parametersJsonSchema: weatherSchema }, clock] }];
  }
  if (question.tools === 'forced') {
    // The SDK's enum is a plain string on the wire.
    const mode = 'ANY' as NonNullable<
      NonNullable<NonNullable<typeof config.toolConfig>['functionCallingConfig']>['mode']
    >;
    config.toolConfig = { functionCallingConfig: { mode, allowedFunctionNames: [weather.name] } };
  }
  if (question.isJson) {
    config.responseMimeType = 'application/json';
    config.responseJsonSchema = weatherSchema;
  }
  if (question.isReasoning) config.thinkingConfig = { includeThoughts: true, thinkingBudget: 2000 };
  if (question.maxTokens !== undefined) config.maxOutputTokens = question.maxTokens;
  if (question.stop !== undefined) config.stopSequences = [question.stop];
  const parameters = { model: target.model, contents, config };
  const chunks = isStream
    ? await client.models.generateContentStream(parameters)
    : [await client.models.generateContent(parameters)];
  const told: Told = {
    text: '',
    reasoning: '',
    calls: [],
    finish: '',
    inputTokens: undefined,
    outputTokens: undefined,
  };
  for await (const { candidates, usageMetadata } of chunks) {
    for (const part of candidates?.[0]?.content?.parts ?? []) {
      if (part.thought) told.reasoning += part.text ?? '';
      else told.text += part.text ?? '';
      if (part.functionCall) {
        told.calls.push({ name: part.functionCall.name ?? '', arguments: part.functionCall.args });
      }
    }
    told.finish = candidates?.[0]?.finishReason ?? told.finish;
    told.inputTokens = usageMetadata?.promptTokenCount;
    told.outputTokens = usageMetadata?.candidatesTokenCount;
    if (usageMetadata?.thoughtsTokenCount !== undefined) {
      told.outputTokens = (told.outputTokens ?? 0) + usageMetadata.thoughtsTokenCount;
    }
  }
  return told;
}
