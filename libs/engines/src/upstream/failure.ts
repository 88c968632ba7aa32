import type { ErrorInfo, ErrorKind } from '@sluice/canonical';

const maxMessageLength = 500;
/** What to wait where a server that is not there says nothing of it. */
const reconnectAfterMs = 1000;

/** A failure in the gateway's name: the client did nothing wrong and must not be told so. */
const ours = (message: string) => (): ErrorInfo => ({ kind: 'upstream-failed', message });
const theirs = (info: ErrorInfo): ErrorInfo => info;
const failed = (info: ErrorInfo): ErrorInfo => ({ ...info, kind: 'upstream-failed' });

/**
 * What a client hears of each kind of upstream error. The credential, the account and the model's name at the
 * server are the operator's: their faults become 502, for a 401 would make a client doubt its own key.
 */
const presentations: Readonly<Record<ErrorKind, (info: ErrorInfo) => ErrorInfo>> = {
  'invalid-request': theirs,
  'too-large': theirs,
  'rate-limited': theirs,
  saturated: theirs,
  unavailable: theirs,
  unauthenticated: ours("the upstream refused the gateway's credential"),
  'permission-denied': ours("the upstream refused the gateway's credential"),
  'budget-exhausted': ours("the gateway's account at the upstream is exhausted"),
  'not-found': ours('the upstream does not know the model or the path'),
  'method-not-allowed': ours('the upstream does not take this kind of request'),
  'unsupported-media': ours('the upstream does not take this kind of request'),
  cancelled: failed,
  'deadline-exceeded': failed,
  'upstream-failed': failed,
  internal: failed,
};

/** An upstream's error as a client may see it: right kind, bounded text, no credential, no path of the upstream's dialect. */
export function presentFailure(info: ErrorInfo, credential: string | undefined): ErrorInfo {
  const { param: _param, ...presented } = presentations[info.kind](info);
  const message = credential ? presented.message.replaceAll(credential, '[credential]') : presented.message;
  return { ...presented, message: message.slice(0, maxMessageLength) };
}

/** A connection that could not be made, or broke before there was an answer: nothing was generated. */
export function unreachable(error: Error): ErrorInfo {
  const fact = isConnectTimeout(error)
    ? 'the upstream did not accept a connection in time'
    : 'the upstream cannot be reached';
  return { kind: 'unavailable', message: fact, retryAfterMs: reconnectAfterMs };
}

/** An answer that broke off. */
export function cutOff(): ErrorInfo {
  return { kind: 'upstream-failed', message: 'the upstream broke off its answer' };
}

/** Silence where an event was due. */
export function silent(durationMs: number, isFirst: boolean): ErrorInfo {
  const what = isFirst ? 'did not begin its answer' : 'fell silent in its answer';
  return { kind: 'upstream-failed', message: `the upstream ${what} for ${durationMs} ms` };
}

/**
 * Whether a request was lost with a kept-alive connection that the server was closing just then. It had
 * carried an answer before, and not a byte of this one came: the request may be sent again.
 */
export function wasStaleConnection(error: Error): boolean {
  if (codeOf(error) !== 'UND_ERR_SOCKET' || !('socket' in error)) return false;
  const { socket } = error;
  return (
    typeof socket === 'object' && socket !== null && 'bytesRead' in socket && Number(socket.bytesRead) > 0
  );
}

/** The code that Node or the HTTP client gave the failure; for logs and for start-up sentences. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function isConnectTimeout(error: Error): boolean {
  return codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT' || codeOf(error) === 'ETIMEDOUT';
}
