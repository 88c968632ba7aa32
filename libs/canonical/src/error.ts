import type { Extensible } from './extensions.ts';

/** Why something failed. Each format maps every kind to a status and to words of its own. */
export type ErrorKind =
  | 'invalid-request'
  | 'unauthenticated'
  | 'budget-exhausted'
  | 'permission-denied'
  | 'not-found'
  | 'method-not-allowed'
  | 'too-large'
  | 'unsupported-media'
  | 'rate-limited'
  | 'saturated'
  | 'cancelled'
  | 'deadline-exceeded'
  | 'upstream-failed'
  | 'unavailable'
  | 'internal';

/** A finer fact than the kind, for dialects that have a word for it. */
export type ErrorDetail =
  | 'model-not-found'
  | 'thread-not-found'
  | 'context-length-exceeded'
  | 'content-filtered'
  | 'invalid-json'
  | 'overloaded'
  | 'poison'
  | 'drained'
  | 'worker-lost';

/**
 * A failure as it travels between processes and into a format's error body. `message` and `extensions`, which is what a
 * server told programs, are safe to show.
 */
export interface ErrorInfo extends Extensible {
  kind: ErrorKind;
  message: string;
  detail?: ErrorDetail;
  /**
   * What refused the request before the queue, by its name in metrics and logs: a limit, another check of admission, or
   * a Redis that is away or slow.
   */
  refusedBy?: string;
  /** Path of the offending field in the client's own request, such as `messages[2].content`. */
  param?: string;
  /** Milliseconds after which a retry makes sense; absent means there is no estimate. */
  retryAfterMs?: number;
  /** False when a retry cannot help (it was already retried here, or money was spent). Absent: the kind decides. */
  retryable?: boolean;
}

/** What an error may carry besides its kind and message. `cause` never leaves the process. */
export interface SluiceErrorOptions extends Omit<ErrorInfo, 'kind' | 'message'> {
  cause?: unknown;
}

/** The one error class. The message is a lower-case fact that a caller may see, unless the kind is `internal`. */
export class SluiceError extends Error {
  readonly kind: ErrorKind;
  readonly options: Omit<ErrorInfo, 'kind' | 'message'>;

  constructor(kind: ErrorKind, message: string, { cause, ...options }: SluiceErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.kind = kind;
    this.options = options;
  }

  /** The part that may leave the process. It hides the text of an internal error. */
  get info(): ErrorInfo {
    const message = this.kind === 'internal' ? 'internal error' : this.message;
    return { kind: this.kind, message, ...this.options };
  }
}

/** The error that was told of, to be thrown again. */
export function errorFrom({ kind, message, ...options }: ErrorInfo): SluiceError {
  return new SluiceError(kind, message, options);
}

/**
 * What a caller may be told about anything that was thrown. Errors that are not ours become `internal`, without text.
 */
export function errorInfoOf(thrown: unknown): ErrorInfo {
  return thrown instanceof SluiceError ? thrown.info : { kind: 'internal', message: 'internal error' };
}
