import { index, type Random } from '../random.ts';
import { type Distribution, sampleCount } from '../scenario/distribution.ts';

/** What a prompt depends on. */
export interface PromptFacts {
  /** Number of the arrival, `{index}`. */
  arrival: number;
  /** Asked output tokens, `{tokens}`; absent reads as 0. */
  limit: number | undefined;
  /** Words to generate; absent: drawn from the distribution. */
  words: number | undefined;
}

export type PromptSource = (facts: PromptFacts) => string;

/** How prompts of one kind of traffic are made. */
export interface PromptOptions {
  template: string;
  tokens: Distribution;
  seeds: number;
  /** Ready prompts for `{text}`, used in turn; absent generates words. */
  lines: readonly string[] | undefined;
  random: Random;
}

/** The most words of one prompt: far more than any model reads, and far less than a string can hold. */
export const mostWords = 1_000_000;

const vocabulary = (
  'river stone light window garden paper engine signal winter market story number bridge orange silver morning ' +
  'letter forest table music water circle planet shadow copper travel harbor method season valley anchor button'
).split(' ');

/** Prompts by template. Generated text is made of common words, about one token each. */
export function createPrompts(options: PromptOptions): PromptSource {
  const { template, random, lines } = options;
  const parts = template.split(/(\{(?:text|tokens|seed|index)\})/);
  const words = lines ? undefined : createWords(random);
  return ({ arrival, limit, words: asked }) => {
    let prompt = '';
    for (const part of parts) {
      if (part === '{text}') {
        const line = lines?.[arrival % lines.length];
        prompt += line ?? words?.(Math.min(mostWords, asked ?? sampleCount(options.tokens, random))) ?? '';
      } else if (part === '{tokens}') prompt += limit ?? 0;
      else if (part === '{seed}') prompt += index(random, options.seeds);
      else if (part === '{index}') prompt += arrival;
      else prompt += part;
    }
    return prompt;
  };
}

/** Cuts text of any length out of one long text at a random place: cheap, and prompts differ. */
function createWords(random: Random): (count: number) => string {
  const block = 8192;
  let text = '';
  const starts: number[] = [];
  for (let at = 0; at < block; at++) {
    starts.push(text.length);
    text += `${vocabulary[index(random, vocabulary.length)]} `;
  }
  return (count) => {
    const from = index(random, block);
    let rest = count - (block - from);
    if (rest <= 0) return text.slice(starts[from], (starts[from + count] ?? text.length + 1) - 1);
    let result = text.slice(starts[from]);
    for (; rest > block; rest -= block) result += text;
    return result + text.slice(0, (starts[rest] ?? text.length) - 1);
  };
}
