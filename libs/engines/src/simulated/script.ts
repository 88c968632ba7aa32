import type { ErrorInfo, FinishReason } from '@sluice/canonical';

/** A run of tokens of one kind, which becomes one block. */
export type Passage =
  | { type: 'reasoning' | 'text'; count: number; tokenAt(position: number): string }
  | { type: 'call'; id: string; name: string; count: number; tokenAt(position: number): string };

/** Everything that a generation will say and do, known before its first word. */
export interface Script {
  passages: readonly Passage[];
  /** The finish reason, if it comes to its end. */
  finish: FinishReason;
  ttftMs: number;
  gapMs: number;
  /** Tokens that come together after each gap. */
  burst: number;
  isStamped: boolean;
  /** Fails after `at` tokens; at 0, before the start event. */
  error?: { info: ErrorInfo; at: number };
  /** Falls silent after this many tokens. */
  stallAt?: number;
}

/** The tokens of a passage: these pieces of text, one token each. */
export function pieces(texts: readonly string[]): Pick<Passage, 'count' | 'tokenAt'> {
  return { count: texts.length, tokenAt: (position) => texts[position] ?? '' };
}

/** Splits a text into tokens of about `size` UTF-16 units, never inside a surrogate pair. */
export function cut(text: string, size: number): string[] {
  const texts: string[] = [];
  let from = 0;
  while (from < text.length) {
    let to = Math.min(text.length, from + size);
    const last = text.charCodeAt(to - 1);
    if (last >= 0xd800 && last <= 0xdbff && to < text.length) to += 1;
    texts.push(text.slice(from, to));
    from = to;
  }
  return texts;
}
