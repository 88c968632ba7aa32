import type { ErrorInfo, ErrorKind } from '@sluice/canonical';
import { shortened } from '@sluice/formats';
import type { Failure, ResponseHead } from '@sluice/http';
import type { FailureFacts } from '../engine.ts';
import { withoutSecrets } from './secrets.ts';

/** In characters of JSON. */
const maxExtensionsLength = 2000;
const maxIdLength = 128;
/** How long to wait if a server that is unavailable does not say. */
const reconnectAfterMs = 1000;

/**
 * A failure in the gateway's own name: the client did nothing wrong and must not be told so. Only the operator can fix
 * it.
 */
const ours = (message: string) => (): ErrorInfo => ({ kind: 'upstream-failed', message, retryable: false });
const theirs = (info: ErrorInfo): ErrorInfo => info;
const failed = ({ extensions: _told, ...info }: ErrorInfo): ErrorInfo => ({
  ...info,
  kind: 'upstream-failed',
});

/**
 * What a client hears of each kind of upstream error. The credential, the account and the model's name at the server
 * belong to the operator: their faults become 502, because a 401 would make a client doubt its own key.
 */
const presentations: Readonly<Record<ErrorKind, (info: ErrorInfo) => ErrorInfo>> = {
  'invalid-request': theirs,
  'too-large': theirs,
  'rate-limited': theirs,
  saturated: theirs,
  unavailable: theirs,
  unauthenticated: ours("the upstream refused the gateway's credential"),
  'permission-denied': ours('the upstream does not permit this call to the gateway'),
  'budget-exhausted': ours("the gateway's account at the upstream is exhausted"),
  'not-found': ours('the upstream does not know the model or the path'),
  'method-not-allowed': ours('the upstream does not accept this kind of request'),
  'unsupported-media': ours('the upstream does not accept this kind of request'),
  cancelled: failed,
  'deadline-exceeded': failed,
  'upstream-failed': failed,
  internal: failed,
};

/**
 * An upstream's error as a client may see it: the right kind, a bounded text and no credential. What it told programs
 * stays whole or goes.
 */
export function presentFailure(info: ErrorInfo, secrets: readonly string[]): ErrorInfo {
  const { extensions, ...presented } = presentations[info.kind](info);
  const message = shortened(withoutSecrets(presented.message, secrets));
  const isShown = extensions !== undefined && isPresentable(JSON.stringify(extensions), secrets);
  return { ...presented, message, ...(isShown && { extensions }) };
}

function isPresentable(text: string, secrets: readonly string[]): boolean {
  return text.length <= maxExtensionsLength && withoutSecrets(text, secrets) === text;
}

/** What the head of a refusal says about it. */
export function factsOf(head: ResponseHead): FailureFacts {
  const id = head.header('x-request-id') ?? head.header('request-id');
  return { status: head.status, ...(id !== undefined && { serverRequestId: id.slice(0, maxIdLength) }) };
}

/** A connection that failed during a request. Before there was an answer, nothing was generated. */
export function connectionFailure(failure: Failure, hasAnswer: boolean): ErrorInfo {
  if (hasAnswer) return cutOff();
  switch (failure) {
    case 'connect-timeout':
      return unreachable('did not accept a connection in time');
    case 'protocol':
      return { kind: 'upstream-failed', message: 'the upstream does not answer in HTTP' };
    case 'connect':
    case 'reset':
    case 'closed':
      return unreachable('cannot be reached');
  }
}

function unreachable(fact: string): ErrorInfo {
  return { kind: 'unavailable', message: `the upstream ${fact}`, retryAfterMs: reconnectAfterMs };
}

/** An answer that broke off. */
export function cutOff(): ErrorInfo {
  return { kind: 'upstream-failed', message: 'the upstream broke off its answer' };
}

/** Silence when an event was due. */
export function silent(durationMs: number, isFirst: boolean): ErrorInfo {
  const what = isFirst ? 'did not begin its answer' : 'fell silent in its answer';
  return { kind: 'upstream-failed', message: `the upstream ${what} for ${durationMs} ms` };
}

/** The code that Node or the HTTP client gave the failure, for logs and start-up messages. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
