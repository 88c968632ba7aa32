import type { Dialect, EventFacts } from './dialect.ts';
import { dig, digCount, digList, digText } from './dig.ts';

/** Generate content. */
export const gemini: Dialect = {
  format: 'gemini',
  textKey: '"text":"',
  path(model, isStream) {
    // Slashes and colons stay as they are: the SDKs send them raw.
    const name = encodeURIComponent(model).replaceAll('%2F', '/').replaceAll('%3A', ':');
    return `/v1beta/models/${name}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
  },
  headers: (key) => (key === undefined ? {} : { 'x-goog-api-key': key }),
  body: ({ prompt, maxTokens }) => ({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    ...(maxTokens !== undefined && { generationConfig: { maxOutputTokens: maxTokens } }),
  }),
  readEvent: (data) => facts(JSON.parse(data)),
  readAnswer: facts,
  readError: errorType,
};

function facts(event: unknown): EventFacts {
  if (dig(event, 'error')) return { error: errorType(event) ?? 'error' };
  const candidates = digCount(event, 'usageMetadata', 'candidatesTokenCount');
  const thoughts = digCount(event, 'usageMetadata', 'thoughtsTokenCount') ?? 0;
  const parts = digList(event, 'candidates', 0, 'content', 'parts');
  return {
    text: parts.map(partText).join(''),
    ...(parts.some((part) => dig(part, 'thought') === true) && { isThought: true }),
    // For a blocked prompt, the reason of the block is the whole answer.
    isEnd:
      (digText(event, 'candidates', 0, 'finishReason') ?? digText(event, 'promptFeedback', 'blockReason')) !==
      undefined,
    ...(candidates !== undefined && { outputTokens: candidates + thoughts, thoughtTokens: thoughts }),
  };
}

/** The text of a call is its name and its arguments, as in the other formats: its identifier differs each time. */
function partText(part: unknown): string {
  const call = dig(part, 'functionCall');
  if (call === undefined) return digText(part, 'text') ?? '';
  return (digText(call, 'name') ?? '') + JSON.stringify(dig(call, 'args') ?? {});
}

function errorType(body: unknown): string | undefined {
  return digText(body, 'error', 'status');
}
