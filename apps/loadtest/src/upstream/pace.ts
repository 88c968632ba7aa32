/** How a model of the fake upstream behaves. */
export interface Pace {
  /** From the request to the first token. */
  firstTokenMs: number;
  tokens: number;
  /** Time between two writes. 0: as fast as the reader takes them, one write per turn of the event loop. */
  gapMs: number;
  tokensPerWrite: number;
  /** Whether every token carries the instant of its emission. */
  isStamped: boolean;
  /** Cut the connection after this many tokens; absent: it is not cut. */
  cutAfter?: number;
  /** Answer with this status instead. Absent: the answer is good. */
  errorStatus?: number;
  /** How many answers of this model may run at the same time; more are refused with 429. Absent: none is refused. */
  slots?: number;
  /** How many of 100 requests are cut or refused. */
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
 * Reads a model name such as `paced-t50-n64-g10-b4-stamp`: first token after 50 ms, 64 tokens, a gap of 10 ms, 4 tokens
 * per write, each stamped. Also: `x8` cuts after 8 tokens, `e503` answers with that status, `p5` does either to 5 % of
 * the requests only, `q32` serves 32 at a time and refuses more with 429. Milliseconds may have a fraction. What a name
 * leaves out has its default, as in any other name: first token at once, 16 tokens, no gap, 1 token per write.
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
