import { assertNever } from '@sluice/canonical';
import type { FormatName } from '../dialects/dialect.ts';

/** Why an answer ended: all tokens were written, or the caller's limit was reached. */
export type End = 'stop' | 'length';

/** Writes one answer in a format. Token text must not need JSON escapes. */
export interface Voice {
  /** What precedes the first token of a stream. */
  start(): string;
  token(text: string): string;
  end(end: End, outputTokens: number): string;
  single(text: string, end: End, outputTokens: number): string;
}

/** What an answer repeats of its request. */
export interface VoiceOptions {
  id: string;
  model: string;
  inputTokens: number;
  /** Epoch seconds. */
  created: number;
  /** Whether a chat-completions stream ends with usage. */
  includesUsage: boolean;
}

/** The voice of a format. */
export function createVoice(format: FormatName, options: VoiceOptions): Voice {
  switch (format) {
    case 'openai':
      return openaiVoice(options);
    case 'anthropic':
      return anthropicVoice(options);
    case 'gemini':
      return geminiVoice(options);
    default:
      return assertNever(format);
  }
}

function openaiVoice({ id, model, inputTokens, created, includesUsage }: VoiceOptions): Voice {
  const usage = (output: number) => ({
    prompt_tokens: inputTokens,
    completion_tokens: output,
    total_tokens: inputTokens + output,
  });
  const chunk = (choices: object[], more: object = {}) =>
    data({ id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model, choices, ...more });
  const delta = (content: object, finish: End | null) =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason: finish }]);
  return {
    start: () => delta({ role: 'assistant', content: '', refusal: null }, null),
    token: prepared((text) => delta({ content: text }, null)),
    end: (end, output) =>
      `${delta({}, end)}${includesUsage ? chunk([], { usage: usage(output) }) : ''}data: [DONE]\n\n`,
    single: (content, end, output) =>
      json({
        id: `chatcmpl-${id}`,
        object: 'chat.completion',
        created,
        model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content, refusal: null },
            logprobs: null,
            finish_reason: end,
          },
        ],
        usage: usage(output),
      }),
  };
}

const anthropicStop: Readonly<Record<End, string>> = { stop: 'end_turn', length: 'max_tokens' };

function anthropicVoice({ id, model, inputTokens }: VoiceOptions): Voice {
  const usage = (output: number) => ({
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
  });
  const message = (content: object[], stop: string | null, output: number) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: usage(output),
  });
  const event = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
  const delta = (text: string) =>
    event({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } });
  return {
    start: () =>
      event({ type: 'message_start', ...{ message: message([], null, 1) } }) +
      event({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
    token: prepared(delta),
    end: (end, output) =>
      event({ type: 'content_block_stop', ...{ index: 0 } }) +
      event({
        type: 'message_delta',
        ...{ delta: { stop_reason: anthropicStop[end], stop_sequence: null }, usage: usage(output) },
      }) +
      event({ type: 'message_stop' }),
    single: (text, end, output) => json(message([{ type: 'text', text }], anthropicStop[end], output)),
  };
}

const geminiFinish: Readonly<Record<End, string>> = { stop: 'STOP', length: 'MAX_TOKENS' };

function geminiVoice({ id, model, inputTokens }: VoiceOptions): Voice {
  const answer = (text: string, end?: End, output = 0) => ({
    candidates: [
      {
        content: { role: 'model', parts: [{ text }] },
        ...(end && { finishReason: geminiFinish[end] }),
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: inputTokens,
      ...(end && { candidatesTokenCount: output }),
      totalTokenCount: inputTokens + output,
    },
    modelVersion: model,
    responseId: id,
  });
  return {
    start: () => '',
    token: prepared((text) => data(answer(text))),
    end: (end, output) => data(answer('', end, output)),
    single: (text, end, output) => json(answer(text, end, output)),
  };
}

/** Placeholder for a token's text in a prepared event; no model's name contains it. */
const mark = '~text~';

/** Writes the event of a token, from the second one on without building it anew. */
function prepared(event: (text: string) => string): (text: string) => string {
  let around: string[] | undefined;
  return (text) => {
    around ??= event(mark).split(mark);
    return `${around[0]}${text}${around[1]}`;
  };
}

function json(value: object): string {
  return JSON.stringify(value);
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
