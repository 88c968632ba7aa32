/** The three public API formats. */
export const formatNames = ['openai', 'anthropic', 'gemini'] as const;
export type FormatName = (typeof formatNames)[number];

/** What a request asks for; everything else of the body comes from the scenario's `body`. */
export interface Ask {
  model: string;
  prompt: string;
  /** Absent leaves the limit to the server, or takes 4096 where the format demands one. */
  maxTokens?: number;
  isStream: boolean;
}

/** What one event of a stream, or a whole answer, says to a load test. */
export interface EventFacts {
  /** Text that a reader would see: answer, reasoning or arguments of a call. Absent or empty means no content. */
  text?: string;
  /** True when some of the text is thinking that is shown. */
  isThought?: boolean;
  /** True when the format's own end of the answer was said. */
  isEnd?: boolean;
  /** All output tokens so far, as the server counts them. */
  outputTokens?: number;
  /** Those of them that were thinking, shown or not. */
  thoughtTokens?: number;
  /** The format's own error type. */
  error?: string;
}

/** A format as its client sees it. Pure; knows nothing of connections and clocks. */
export interface Dialect {
  readonly format: FormatName;
  /** What stands right before the text of the usual delta, white space left out: the scanner's shortcut. */
  readonly textKey: string;
  /** The whole path with its query. */
  path(model: string, isStream: boolean): string;
  /** What its clients send beside what every client sends. */
  headers(key: string | undefined): Record<string, string>;
  body(ask: Ask): Record<string, unknown>;
  /** `data` is the text of one `data:` line. Throws a SyntaxError when it is not JSON. */
  readEvent(data: string): EventFacts;
  /** A single answer's facts; `isEnd` false when it is not an answer of this format. */
  readAnswer(body: unknown): EventFacts;
  /** The error type in a body of status 400 or above; absent when it is not the format's. */
  readError(body: unknown): string | undefined;
}
