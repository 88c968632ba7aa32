import type { GenerationEvent } from '@sluice/canonical';

const charactersPerToken = 4;
/** What is longer is several tokens, also of a server that mostly sends one by one: some send sentences, or whole calls. */
const longestToken = 32;

/**
 * Says of deltas whose server does not how many tokens they stand for: who leaves in the middle pays for what was
 * said, and another attempt knows what is left of a limit. The usage at the end replaces it.
 */
export function estimateTokensOf(events: readonly GenerationEvent[], isTokenByToken: boolean): void {
  // A server that counts says it once for all parts of a piece.
  for (const event of events) if ('tokens' in event && event.tokens !== undefined) return;
  for (const event of events) {
    switch (event.type) {
      case 'text-delta':
        event.tokens = event.logprobs?.length ?? tokensOf(event.text, isTokenByToken);
        break;
      case 'reasoning-delta':
        event.tokens = tokensOf(event.text, isTokenByToken);
        break;
      case 'tool-call-delta':
        event.tokens = tokensOf(event.arguments, isTokenByToken);
        break;
      default:
        break;
    }
  }
}

function tokensOf(text: string, isTokenByToken: boolean): number {
  if (isTokenByToken && text.length <= longestToken) return 1;
  return Math.max(1, Math.round(text.length / charactersPerToken));
}
