import type { Dialect, EventFacts } from './dialect.ts';
import { dig, digCount, digList, digText } from './dig.ts';

/** Messages. */
export const anthropic: Dialect = {
  format: 'anthropic',
  textKey: '"text":"',
  path: () => '/v1/messages',
  headers: (key) => ({ 'anthropic-version': '2023-06-01', ...(key !== undefined && { 'x-api-key': key }) }),
  body: ({ model, prompt, maxTokens, isStream }) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
    max_tokens: maxTokens ?? 4096,
    ...(isStream && { stream: true }),
  }),
  readEvent(data) {
    const event: unknown = JSON.parse(data);
    switch (digText(event, 'type')) {
      case 'content_block_delta':
        return { text: deltaText(dig(event, 'delta')) };
      case 'content_block_start':
        return { text: startText(dig(event, 'content_block')) };
      case 'message_delta':
        return usage(event);
      case 'message_stop':
        return { isEnd: true };
      case 'error':
        return { error: errorType(event) ?? 'error' };
      default:
        return {};
    }
  },
  readAnswer(body) {
    if (digText(body, 'type') === 'error') return { error: errorType(body) ?? 'error' };
    const texts = digList(body, 'content').map(blockText);
    return { ...usage(body), text: texts.join(''), isEnd: digText(body, 'type') === 'message' };
  },
  readError: errorType,
};

function usage(event: unknown): EventFacts {
  const outputTokens = digCount(event, 'usage', 'output_tokens');
  return outputTokens === undefined ? {} : { outputTokens };
}

/** The text that the start of a block already holds: the name of a call, or the beginning of text or thinking. */
function startText(block: unknown): string {
  return digText(block, 'name') ?? digText(block, 'text') ?? digText(block, 'thinking') ?? '';
}

function deltaText(delta: unknown): string {
  return digText(delta, 'text') ?? digText(delta, 'partial_json') ?? digText(delta, 'thinking') ?? '';
}

function blockText(block: unknown): string {
  const input = dig(block, 'input');
  const text = digText(block, 'text') ?? digText(block, 'thinking') ?? '';
  return input === undefined ? text : (digText(block, 'name') ?? '') + JSON.stringify(input);
}

function errorType(body: unknown): string | undefined {
  return digText(body, 'error', 'type');
}
