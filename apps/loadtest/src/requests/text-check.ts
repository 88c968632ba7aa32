import { createHash } from 'node:crypto';
import type { TextProblem } from './token-text.ts';

/** Compares one answer's text, piece by piece. */
export interface TextCheck {
  /** JSON string content, still escaped. False if it is none: the scanner takes a piece for one by its ends alone. */
  push(bytes: Buffer, start: number, end: number): boolean;
  /** What is wrong with the whole text; absent if nothing is. */
  end(): TextProblem | undefined;
}

/** Checks the answers of one process. */
export interface TextChecker {
  /** Whole answers so far, and how many of them could be compared with a reference. */
  readonly read: number;
  readonly compared: number;
  /** Opens the check of one answer; equal `question`s must get equal answers. */
  open(question: string): TextCheck;
}

/** Every answer must be this text. */
export function expectText(text: string): TextChecker {
  const expected = digestOf(text);
  return new DigestChecker(() => expected);
}

/** Bounds the memory of the check: further questions get no reference. */
const mostReferences = 250_000;

/**
 * The first whole answer to a question is the reference for all others to the same question, in whatever
 * format and streamed or not. It suits models whose text is a function of the prompt.
 */
export function expectRepetition(): TextChecker {
  const references = new Map<string, string>();
  return new DigestChecker((question, digest) => {
    // Only a digest is kept, since prompts may be long.
    const asked = digestOf(question);
    const reference = references.get(asked);
    if (reference === undefined && references.size < mostReferences) references.set(asked, digest);
    return reference;
  });
}

class DigestChecker implements TextChecker {
  read = 0;
  compared = 0;
  private readonly referenceOf: (question: string, digest: string) => string | undefined;

  constructor(referenceOf: (question: string, digest: string) => string | undefined) {
    this.referenceOf = referenceOf;
  }

  open(question: string): TextCheck {
    const hash = createHash('sha256');
    return {
      push(bytes, start, end) {
        try {
          const text: unknown = JSON.parse(`"${bytes.toString('utf8', start, end)}"`);
          hash.update(String(text));
          return true;
        } catch {
          return false;
        }
      },
      end: () => {
        const digest = hash.digest('base64');
        const reference = this.referenceOf(question, digest);
        this.read += 1;
        if (reference === undefined) return undefined;
        this.compared += 1;
        return reference === digest ? undefined : 'mismatch';
      },
    };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
