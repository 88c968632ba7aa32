import { charactersPerToken, type GenerationEvent } from '@sluice/canonical';

/**
 * A longer text is several tokens, even from a server that mostly sends one at a time: some send sentences or whole
 * calls.
 */
const longestToken = 32;

/**
 * Estimates how many tokens a delta stands for if the server does not say. A client that leaves in mid-stream pays for
 * what was said, and another attempt knows how much of a limit is left. The usage at the end replaces the estimate.
 */
export function estimateTokensOf(events: readonly GenerationEvent[], isTokenByToken: boolean): void {
  // A server that counts tells the count once for all parts of a piece.
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
