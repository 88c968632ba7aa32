import { type ErrorKind, isJsonObject } from '@sluice/canonical';

const longestMessage = 500;

/**
 * As much of a server's words as is shown, since some quote the whole request. Nothing follows the cut: the beginning of
 * a key is recognized by its place at the end.
 */
export function shortened(message: string): string {
  return message.slice(0, longestMessage).toWellFormed();
}

/** How servers say that the prompt, or the prompt plus the limit, exceeds the context. Few have a code for it. */
const tooLong = new RegExp(
  [
    // OpenAI, vLLM, SGLang, llama.cpp, LM Studio, DeepSeek, Mistral, OpenRouter, Fireworks, MiniMax, LiteLLM.
    'context ?(?:length|window|size)|exceed context limit|longer than the maximum model length',
    'tokens exceed the configured limit|reduce the length of the messages',
    // Messages, Bedrock.
    'prompt is too long|input is too long for|number of input tokens exceeds',
    // Generate content.
    'token count.*exceeds|maximum number of (?:input )?tokens',
    // Text Generation Inference, Together.
    '`inputs` (?:tokens \\+ `max_new_tokens` must be|must have less than)',
    // xAI, Moonshot, Zhipu, Qwen, SiliconFlow.
    'maximum prompt length is|exceeded model token limit|prompt exceeds max length',
    'range of input length should be|must be less than max_seq_len',
    // SGLang, TensorRT-LLM, Doubao.
    '(?:input|prompt) length\\b.{0,80}\\bexceeds (?:the )?maximum|should not exceed max_num_tokens',
    'exceed max message tokens',
    // Cohere, and GitHub with status 413.
    'too many tokens:|request body too large for .{0,80}\\bmax size: \\d+ tokens',
  ].join('|'),
  'i',
);

/** Whether a server's words mean that a request exceeds the model's context. */
export function saysTooLong(message: string): boolean {
  return tooLong.test(message);
}

const limitTooLarge = new RegExp(
  [
    // vLLM, OpenAI, Doubao, Groq.
    '\\bmax_(?:completion_)?tokens\\b.*(?:cannot be greater than|\\btoo large\\b|above maximum value|must be less than or)',
    // DeepSeek, Qwen.
    'range of max_(?:completion_)?tokens',
    // Claude, Gemini.
    'maximum allowed number of output tokens|maxOutputTokens value of \\d+ but the supported range',
  ].join('|'),
  'i',
);

/** Whether a server's words mean that the output limit is more than it ever allows, whatever the prompt. */
export function saysLimitTooLarge(message: string): boolean {
  return limitTooLarge.test(message);
}

/** The first limit that is refused, in Gemini's words; the last one that is allowed, in those of the others. */
const refusedFrom = /to (\d[\d,]*) \(exclusive\)/;
const allowedUpTo =
  /(?:at most|value <=|less than or equal to|tokens (?:is|should be) \[\d+,|max_tokens: \d+ >) *`?(\d[\d,]*)\b/;

/** The largest output limit that a server allows, if it says so when it refuses a larger one. */
export function largestLimit(message: string): number | undefined {
  if (!saysLimitTooLarge(message)) return undefined;
  const from = numberBy(refusedFrom, message);
  const most = from === undefined ? numberBy(allowedUpTo, message) : from - 1;
  return most !== undefined && most > 0 ? most : undefined;
}

/** The number that the pattern finds, with or without commas between its thousands. */
function numberBy(pattern: RegExp, message: string): number | undefined {
  const digits = pattern.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
}

const limitReached = /could not finish the message because max_tokens or model output limit was reached/i;

/**
 * Whether a server reports in the words of a refusal that its model has used up the output limit before it said
 * anything. OpenAI's models that reason, and Azure's, do so if the limit is small.
 */
export function saysLimitReached(message: string): boolean {
  return limitReached.test(message);
}

/** Words of Claude, whose grammar of all strict functions has undocumented bounds, and of OpenAI. */
const tooStrict =
  /\btools\.\d+\.custom\b|strict tools|compiled grammar|schemas? (?:is|contains?) too|invalid schema for function/i;

/** Whether a server's words mean that it cannot enforce the schemas of strict functions. */
export function saysTooStrict(message: string): boolean {
  return tooStrict.test(message);
}

const refusedKey = /(?:incorrect|valid) api key|api key (?:is )?(?:not valid|invalid|expired)/i;

/** Whether a server blames the request for our credential; a few do so with status 400. */
export function saysRefusedKey(message: string): boolean {
  return refusedKey.test(message);
}

/** Words of Claude, of DeepSeek, Zhipu and MiniMax, of Qwen, and of Zhipu in Chinese. */
const outOfMoney =
  /credit balance is too low|insufficient balance|account is in good standing|余额不足|欠费/i;
const mayBeOutOfMoney: ReadonlySet<ErrorKind> = new Set([
  'invalid-request',
  'rate-limited',
  'upstream-failed',
]);

/**
 * Whether a server blames the request for our own empty account: Claude's API does so with status 400, Zhipu's with
 * 429, and MiniMax's with 500. `kind` is what its status means.
 */
export function isOutOfMoney(kind: ErrorKind, message: string): boolean {
  return mayBeOutOfMoney.has(kind) && outOfMoney.test(message);
}

const refusedPlace = /user location is not supported/i;

/** Whether a server does not serve the country that our worker calls from; Gemini's API says so with status 400. */
export function saysRefusedPlace(message: string): boolean {
  return refusedPlace.test(message);
}

const flaggedContent = /input was flagged|content violates usage guidelines/i;

/** Whether a server refuses what a request says, not who asks: xAI and OpenRouter do so with status 403. */
export function saysFlaggedContent(message: string): boolean {
  return flaggedContent.test(message);
}

const refusedMedia =
  /\b(?:(?:image|audio|video) input|multimodal) is not supported\b|only 'text' content type is supported/i;

/**
 * Whether a server's model takes no images or sound: llama.cpp says so with status 500, MLX's server with 404,
 * DeepInfra with 405.
 */
export function saysRefusedMedia(message: string): boolean {
  return refusedMedia.test(message);
}

const refusedFeature =
  /\bno endpoints found that (?:support|can handle)\b|\b(?:tool|function) calling is not supported\b/i;

/**
 * Whether no server of a model can do what a request asks: OpenRouter says so with status 404, as of an unknown model,
 * and DeepInfra with 405.
 */
export function saysRefusedFeature(message: string): boolean {
  return refusedFeature.test(message);
}

/**
 * The sentence in a server's `message` or `detail`: a text, or the first complaint of a list as FastAPI makes it, which
 * other servers wrap once more, as Together does with a whole error. Absent if there is none.
 */
export function readSentence(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(first)) return undefined;
  const { msg, loc, detail, message } = first;
  if (typeof msg !== 'string') {
    const inner = detail ?? message;
    return inner === undefined ? undefined : readSentence(inner);
  }
  // The wrong value is beside it as `input`. It is the client's, so it is not read.
  const path = Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : '';
  return path === '' ? msg : `${path}: ${msg}`;
}

/** The template of gpt-oss, whose models say what precedes a call in their thoughts, wants a call with one of the two. */
export function wantsOneThought(refusal: string): boolean {
  return /\bcannot pass both content and thinking\b/i.test(refusal);
}
