import type { JsonObject } from '@sluice/canonical';
import type { Format } from '../../support/call.ts';
import type { RequestPlan } from '../plan.ts';

/** The path of a request in its format. */
export function pathOf({ format, model, isStream }: RequestPlan): string {
  if (format === 'openai') return '/v1/chat/completions';
  if (format === 'anthropic') return '/v1/messages';
  return `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

/** The body of a request in its format. It asks for usage if the format tells usage only on demand. */
export function bodyOf({ format, model, isStream, tokens }: RequestPlan, prompt: string): JsonObject {
  const builders: Readonly<Record<Format, () => JsonObject>> = {
    openai: () => ({
      model,
      stream: isStream,
      max_tokens: tokens + 10,
      messages: [{ role: 'user', content: prompt }],
      ...(isStream && { stream_options: { include_usage: true } }),
    }),
    anthropic: () => ({
      model,
      stream: isStream,
      max_tokens: tokens + 10,
      messages: [{ role: 'user', content: prompt }],
    }),
    gemini: () => ({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      generationConfig: { maxOutputTokens: tokens + 10 },
    }),
  };
  return builders[format]();
}
