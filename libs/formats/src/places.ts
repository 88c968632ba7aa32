import type { ErrorInfo, FormatId, InferenceRequest } from '@sluice/canonical';

/*
 * What a server can't take is refused by its name in canonical terms, for the worker knows no other. The ingress that
 * decoded the request still has it, and knows what the client calls the same thing. Beside the request, because nobody
 * else needs it: neither the queue nor the worker.
 */

const places = new WeakMap<object, string>();

/** The thing itself, remembered as one that stands at `path` in its client's request. */
export function placed<Thing extends object>(thing: Thing, path: string): Thing {
  places.set(thing, path);
  return thing;
}

/** What the formats call the settings that a server of another may refuse. */
const words: Readonly<Record<string, Readonly<Record<FormatId, string>>>> = {
  messages: { gemini: 'contents' },
  'sampling.frequencyPenalty': {
    openai: 'frequency_penalty',
    gemini: 'generationConfig.frequencyPenalty',
  },
  'sampling.presencePenalty': { openai: 'presence_penalty', gemini: 'generationConfig.presencePenalty' },
  toolName: { openai: 'tool_call_id', anthropic: 'tool_use_id', gemini: 'functionResponse.name' },
  logprobs: { gemini: 'generationConfig.responseLogprobs' },
};

/** A failure of an answer in the words of the client that `request` came from: the place that is refused is the client's. */
export function inClientWords(error: ErrorInfo, request: InferenceRequest, format: FormatId): ErrorInfo {
  const { param, message } = error;
  if (param === undefined) return error;
  const word = words[param] ?? words[param.replace(/^messages.*\./, '')];
  const place = placeOf(param, request) ?? word?.[format];
  if (place === undefined) return error;
  return { ...error, param: place, message: message.replace(param, () => place) };
}

/** A path in canonical terms, such as `messages[1].content[0].content[2].source`. */
const part = /^messages\[(\d+)\]\.content\[(\d+)\](?:\.content\[(\d+)\])?/;

function placeOf(param: string, { messages, tools = [] }: InferenceRequest): string | undefined {
  const tool = tools[Number(/^tools\[(\d+)\]$/.exec(param)?.[1])];
  if (tool) return places.get(tool);
  const [, message, index, inner] = part.exec(param) ?? [];
  const found = messages[Number(message)]?.content[Number(index)];
  const within = found?.type === 'tool-result' && inner !== undefined ? found.content[Number(inner)] : found;
  return within && places.get(within);
}
