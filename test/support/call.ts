import { SseParser } from '@sluice/formats';

export const formats = ['openai', 'anthropic', 'gemini'] as const;
export type Format = (typeof formats)[number];

export interface Call {
  baseUrl: string;
  apiKey: string;
  format: Format;
  prompt: string;
  stream: boolean;
  model?: string;
  signal?: AbortSignal;
  /** Called after each event of a stream, with the text so far. */
  onText?(text: string): void;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** Whether the answer had its format's sign of being whole. */
  isComplete: boolean;
  /** The error's message, whether it came as a status or in band. */
  error?: string;
}

/** Calls one of the three formats without any SDK and reads the answer strictly. Rejects when the socket is cut. */
export async function call(options: Call): Promise<Answer> {
  const { format, baseUrl, apiKey, stream, signal } = options;
  const { path, body } = requests[format](options.prompt, options.model ?? 'sim', stream);
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  const { status, headers } = response;
  if (status !== 200 || !stream) {
    // Not validated: a missing field shows as undefined in the assertion.
    const json = (await response.json()) as Wire;
    const error = json.error?.message;
    const text = single[format](json) ?? '';
    return { status, headers, text, isComplete: status === 200, ...(error !== undefined && { error }) };
  }
  const answer: Answer = { status, headers, text: '', isComplete: false };
  const parser = new SseParser();
  for await (const chunk of response.body ?? []) {
    for (const { data } of parser.push(chunk)) {
      if (data === '[DONE]') {
        answer.isComplete = true;
        continue;
      }
      const json = JSON.parse(data) as Wire;
      if (json.error) answer.error = json.error.message;
      answer.text += delta[format](json) ?? '';
      if (json.type === 'message_stop' || json.candidates?.[0]?.finishReason) answer.isComplete = true;
      options.onText?.(answer.text);
    }
  }
  return answer;
}

/** The fields of all three formats that the readers below look at. */
interface Wire {
  type?: string;
  error?: { message: string };
  choices?: { delta?: { content?: string }; message?: { content?: string } }[];
  delta?: { text?: string };
  content?: { text?: string }[];
  candidates?: { content?: { parts?: { text?: string }[] }; finishReason?: string }[];
}

const requests: Record<
  Format,
  (prompt: string, model: string, stream: boolean) => { path: string; body: object }
> = {
  openai: (prompt, model, stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: prompt }] },
  }),
  anthropic: (prompt, model, stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 100_000, messages: [{ role: 'user', content: prompt }] },
  }),
  gemini: (prompt, model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
  }),
};

const delta: Record<Format, (json: Wire) => string | undefined> = {
  openai: (json) => json.choices?.[0]?.delta?.content,
  anthropic: (json) => json.delta?.text,
  gemini: (json) => json.candidates?.[0]?.content?.parts?.[0]?.text,
};

const single: Record<Format, (json: Wire) => string | undefined> = {
  openai: (json) => json.choices?.[0]?.message?.content,
  anthropic: (json) => json.content?.[0]?.text,
  gemini: (json) => json.candidates?.[0]?.content?.parts?.map((part) => part.text ?? '').join(''),
};
