import { createHash } from 'node:crypto';
import type { TextProblem } from './token-text.ts';

/** Compares one answer's text, piece by piece. */
export interface TextCheck {
  /** JSON string content, still escaped. */
  push(bytes: Buffer, start: number, end: number): void;
  /** What is wrong with the whole text; absent means nothing. */
  end(): TextProblem | undefined;
}

/** Opens a check for the answer to a request; equal `question`s must get equal answers. */
export type TextChecker = (question: string) => TextCheck;

/** Every answer must be this text. */
export function expectText(text: string): TextChecker {
  const expected = createHash('sha256').update(text).digest('hex');
  return () => digestCheck((digest) => digest === expected);
}

/**
 * The first whole answer to a question is the reference for all others to the same question, in whatever
 * format and streamed or not. It suits models whose text is a function of the prompt.
 */
export function expectRepetition(): TextChecker {
  const references = new Map<string, string>();
  return (question) =>
    digestCheck((digest) => {
      const reference = references.get(question);
      if (reference === undefined) references.set(question, digest);
      return reference === undefined || reference === digest;
    });
}

function digestCheck(isRight: (digest: string) => boolean): TextCheck {
  const hash = createHash('sha256');
  return {
    push(bytes, start, end) {
      const text: unknown = JSON.parse(`"${bytes.toString('utf8', start, end)}"`);
      hash.update(String(text));
    },
    end: () => (isRight(hash.digest('hex')) ? undefined : 'mismatch'),
  };
}
