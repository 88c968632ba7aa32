import { type InferenceRequest, SluiceError } from '@sluice/canonical';

const param = 'sampling.maxOutputTokens';

/**
 * Throws `invalid-request` for an answer of no tokens, by which a client of messages has its prompt written to the
 * cache. Servers of other dialects refuse it or, of generate content, take it for no limit.
 */
export function refuseEmptyAnswer({ sampling }: InferenceRequest): void {
  if (sampling.maxOutputTokens !== 0) return;
  const fact = 'an answer of no tokens, which only a server of messages can give';
  throw new SluiceError('invalid-request', `${param}: ${fact}`, { param });
}
