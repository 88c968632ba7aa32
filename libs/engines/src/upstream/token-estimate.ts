import type { GenerationEvent } from '@sluice/canonical';

const charactersPerToken = 4;

/**
 * Says of deltas whose server does not how many tokens they stand for: who leaves in the middle pays for what was
 * said, and another attempt knows what is left of a limit. The usage at the end replaces it. Servers of chat
 * completions say a token at a time; the others several, which are told by their length.
 */
export function estimateTokensOf(events: readonly GenerationEvent[], dialect: string): void {
  // A server that counts says it once for all parts of a piece.
  for (const event of events) if ('tokens' in event && event.tokens !== undefined) return;
  for (const event of events) {
    switch (event.type) {
      case 'text-delta':
        event.tokens = event.logprobs?.length ?? tokensOf(event.text, dialect);
        break;
      case 'reasoning-delta':
        event.tokens = tokensOf(event.text, dialect);
        break;
      case 'tool-call-delta':
        event.tokens = tokensOf(event.arguments, dialect);
        break;
      default:
        break;
    }
  }
}

function tokensOf(text: string, dialect: string): number {
  return dialect === 'openai' ? 1 : Math.max(1, Math.round(text.length / charactersPerToken));
}
