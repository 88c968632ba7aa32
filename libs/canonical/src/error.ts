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

/** A finer fact than the kind, for the dialects that have a word for it. */
export type ErrorDetail =
  | 'model-not-found'
  | 'thread-not-found'
  | 'context-length-exceeded'
  | 'invalid-json'
  | 'overloaded'
  | 'poison'
  | 'drained'
  | 'worker-lost';

/** A failure as it travels between processes and into a format's error body. `message` is safe to show. */
export interface ErrorInfo {
  kind: ErrorKind;
  message: string;
  detail?: ErrorDetail;
  /** What refused it before the queue, by its name in metrics and logs: a limit, or what stands beside them. */
  refusedBy?: string;
  /** Path of the offending field in the client's own request, as `messages[2].content`. */
  param?: string;
  /** Milliseconds after which a retry makes sense; absent means no estimate. */
  retryAfterMs?: number;
  /** False where we know that a retry can't help (already retried here, money spent). Absent: the kind decides. */
  retryable?: boolean;
}

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

  /** The part that may leave the process. The text of an internal error does not. */
  get info(): ErrorInfo {
    const message = this.kind === 'internal' ? 'internal error' : this.message;
    return { kind: this.kind, message, ...this.options };
  }
}

/** What to tell a caller about anything that was thrown. Strangers' errors become `internal` without their text. */
export function errorInfoOf(thrown: unknown): ErrorInfo {
  return thrown instanceof SluiceError ? thrown.info : { kind: 'internal', message: 'internal error' };
}
