import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { Format } from '../../support/call.ts';

export interface SdkCall {
  port: number;
  apiKey: string;
  prompt: string;
  /** Called each time that text has come. */
  onText(): void;
}

/** What an application with the official SDK receives from a stream. */
export interface SdkAnswer {
  text: string;
  outputTokens: number;
  /** How many finish reasons it received. */
  finishes: number;
}

/** Streams an answer of the model `sim` through the official SDK of a format. Rejects if the SDK throws. */
export function streamThroughSdk(format: Format, call: SdkCall): Promise<SdkAnswer> {
  return streams[format](call);
}

const streams: Readonly<Record<Format, (call: SdkCall) => Promise<SdkAnswer>>> = {
  openai: async ({ port, apiKey, prompt, onText }) => {
    const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey, maxRetries: 0 });
    const answer: SdkAnswer = { text: '', outputTokens: 0, finishes: 0 };
    const chunks = await client.chat.completions.create({
      ...{ model: 'sim', messages: [{ role: 'user', content: prompt }] },
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const { choices, usage } of chunks) {
      answer.text += choices[0]?.delta.content ?? '';
      if (choices[0]?.finish_reason) answer.finishes += 1;
      if (usage) answer.outputTokens = usage.completion_tokens;
      if (answer.text !== '') onText();
    }
    return answer;
  },
  anthropic: async ({ port, apiKey, prompt, onText }) => {
    const baseURL = `http://127.0.0.1:${port}`;
    const client = new Anthropic({ baseURL, apiKey, maxRetries: 0, authToken: null });
    const answer: SdkAnswer = { text: '', outputTokens: 0, finishes: 0 };
    const events = await client.messages.create({
      ...{ model: 'sim', max_tokens: 10_000, messages: [{ role: 'user', content: prompt }] },
      stream: true,
    });
    for await (const event of events) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        answer.text += event.delta.text;
        onText();
      }
      if (event.type === 'message_delta') answer.outputTokens = event.usage.output_tokens;
      if (event.type === 'message_stop') answer.finishes += 1;
    }
    return answer;
  },
  gemini: async ({ port, apiKey, prompt, onText }) => {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `http://127.0.0.1:${port}` } });
    const answer: SdkAnswer = { text: '', outputTokens: 0, finishes: 0 };
    for await (const chunk of await client.models.generateContentStream({ model: 'sim', contents: prompt })) {
      answer.text += chunk.text ?? '';
      answer.outputTokens = chunk.usageMetadata?.candidatesTokenCount ?? answer.outputTokens;
      if (chunk.candidates?.[0]?.finishReason) answer.finishes += 1;
      if (answer.text !== '') onText();
    }
    return answer;
  },
};
