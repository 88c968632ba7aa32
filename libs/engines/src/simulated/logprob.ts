import type { Json } from '@sluice/canonical';
import { referenceToken, seedOf } from './reference.ts';

/**
 * The log probability of a token in the chat dialect's shape, with `alternatives` entries, of which the first is the
 * token itself. A pure function of its arguments. The numbers fall as those of a confident model would.
 */
export function logprobOf(token: string, position: number, alternatives: number): Json {
  const chosen = -((seedOf(token) + position) % 500) / 1000;
  const top: Json[] = [];
  for (let rank = 0; rank < alternatives; rank += 1) {
    const text = rank === 0 ? token : referenceToken(seedOf(token) + rank, position);
    top.push(entry(text, chosen - rank));
  }
  return { ...entry(token, chosen), top_logprobs: top };
}

function entry(token: string, logprob: number) {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
