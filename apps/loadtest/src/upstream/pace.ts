/** How a model of the fake upstream behaves. */
export interface Pace {
  /** From the request to the first token. */
  firstTokenMs: number;
  tokens: number;
  /** Between two writes; 0 writes as fast as the reader takes it, one write per turn of the event loop. */
  gapMs: number;
  tokensPerWrite: number;
  /** Whether every token carries the instant of its emission. */
  isStamped: boolean;
  /** Cut the connection after so many tokens; absent cuts none. */
  cutAfter?: number;
  /** Answer with this status instead. Absent answers well. */
  errorStatus?: number;
  /** Answers of this model at the same time; further ones are refused with 429. Absent refuses none. */
  slots?: number;
  /** Of 100 requests, how many are cut or refused. */
  troublePercent: number;
}

const defaults: Pace = {
  firstTokenMs: 0,
  tokens: 16,
  gapMs: 0,
  tokensPerWrite: 1,
  isStamped: false,
  troublePercent: 100,
};

/**
 * Reads a model name such as `paced-t50-n64-g10-b4-stamp`: first token after 50 ms, 64 tokens, a gap of 10 ms,
 * 4 tokens per write, each stamped. Further: `x8` cuts after 8 tokens, `e503` answers with that status, `p5`
 * does either to 5 % of the requests only, `q32` serves 32 at a time and refuses more with 429. Numbers may have a fraction where they are milliseconds. What the
 * name leaves out, and any other name: first token at once, 16 tokens, no gap, 1 token per write.
 */
export function parsePace(model: string): Pace {
  const pace: Pace = { ...defaults };
  const name = model.slice(model.lastIndexOf('/') + 1);
  if (!name.startsWith('paced')) return pace;
  for (const part of name.split('-').slice(1)) {
    if (part === 'stamp') pace.isStamped = true;
    const [, letter, digits] = /^([a-z])(\d+(?:\.\d+)?)$/.exec(part) ?? [];
    const value = Number(digits);
    if (letter === 't') pace.firstTokenMs = value;
    else if (letter === 'n') pace.tokens = Math.floor(value);
    else if (letter === 'g') pace.gapMs = value;
    else if (letter === 'b') pace.tokensPerWrite = Math.max(1, Math.floor(value));
    else if (letter === 'x') pace.cutAfter = Math.floor(value);
    else if (letter === 'q') pace.slots = Math.floor(value);
    else if (letter === 'e' && value >= 400 && value <= 599) pace.errorStatus = Math.floor(value);
    else if (letter === 'p') pace.troublePercent = value;
  }
  return pace;
}
