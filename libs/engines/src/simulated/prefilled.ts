import type { InferenceRequest } from '@sluice/canonical';
import { cannotContinue, prefillText } from '../prefill.ts';
import type { Passage } from './script.ts';

/**
 * What the simulated model says if the client has begun its answer: only the rest if the beginning is in its own words,
 * otherwise its whole answer after the beginning. No thoughts precede it any more. Throws `invalid-request` for a
 * beginning that is not text, and for JSON that would not be valid after it.
 */
export function goOn(passages: readonly Passage[], request: InferenceRequest): readonly Passage[] {
  if (!request.prefill) return passages;
  const begun = prefillText(request);
  if (begun === undefined) throw cannotContinue(request, 'except in plain text');
  const [first, ...others] = passages.filter(({ type }) => type !== 'reasoning');
  if (first?.type !== 'text') return first ? [first, ...others] : [];
  const rest = restOf(first, begun);
  if (!rest && request.output?.type === 'json') throw cannotContinue(request, 'that begins another JSON');
  return [rest ?? first, ...others];
}

/** The passage without this beginning. Absent if it begins otherwise. */
function restOf(passage: Passage, begun: string): Passage | undefined {
  let position = 0;
  let length = 0;
  let last = '';
  while (length < begun.length && position < passage.count) {
    last = passage.tokenAt(position);
    const overlap = begun.slice(length, length + last.length);
    if (!last.startsWith(overlap)) return undefined;
    length += last.length;
    position += 1;
  }
  if (length < begun.length) return undefined;
  const half = last.slice(last.length - (length - begun.length));
  // The token in which the beginning ends is continued from there. A token that the beginning completes is not
  // repeated.
  const from = half === '' ? position : position - 1;
  return {
    ...passage,
    count: passage.count - from,
    tokenAt: (index) => (index === 0 && half !== '' ? half : passage.tokenAt(from + index)),
  };
}
