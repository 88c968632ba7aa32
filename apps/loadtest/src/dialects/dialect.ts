/** The three public API formats. */
export const formatNames = ['openai', 'anthropic', 'gemini'] as const;
export type FormatName = (typeof formatNames)[number];

/** What a request asks for; everything else of the body comes from the scenario's `body`. */
export interface Ask {
  model: string;
  prompt: string;
  /** Absent: the server decides; 4096 in a format that demands a limit. */
  maxTokens?: number;
  isStream: boolean;
}

/** What one event of a stream, or a whole answer, says to a load test. */
export interface EventFacts {
  /** Text that a reader would see: the answer, reasoning or arguments of a call. Absent or empty: no content. */
  text?: string;
  /** True if some of the text is thinking that is shown. */
  isThought?: boolean;
  /** True if this is the format's own end of the answer. */
  isEnd?: boolean;
  /** All output tokens so far, as the server counts them. */
  outputTokens?: number;
  /** How many of them were thinking, shown or not. */
  thoughtTokens?: number;
  /** The format's own error type. */
  error?: string;
}

/** A format as its client sees it. Pure; knows nothing of connections and clocks. */
export interface Dialect {
  readonly format: FormatName;
  /** The JSON right before the text of a usual delta, without white space: for the scanner's shortcut. */
  readonly textKey: string;
  /** The whole path with its query. */
  path(model: string, isStream: boolean): string;
  /** Headers that clients of this format send in addition. */
  headers(key: string | undefined): Record<string, string>;
  body(ask: Ask): Record<string, unknown>;
  /** `data` is the text of one `data:` line. Throws a SyntaxError if it is not JSON. */
  readEvent(data: string): EventFacts;
  /** The facts of a single answer; without `isEnd`, it is not an answer of this format. */
  readAnswer(body: unknown): EventFacts;
  /** The error type in a body of status 400 or above; absent if the body is not an error of this format. */
  readError(body: unknown): string | undefined;
}
