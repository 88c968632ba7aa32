import { SluiceError } from '@sluice/canonical';
import { maskText } from '../settings/secrets.ts';

/** The part of an error that is logged. */
export interface LoggedError {
  name: string;
  message: string;
  /** Where it was thrown; absent for expected failures, whose message says enough. */
  stack?: string;
  /** Only for our own errors. */
  kind?: string;
  detail?: string;
  /** Only for errors of the system and of drivers: `ECONNREFUSED`. */
  code?: string;
  cause?: LoggedError;
  /** The members of an `AggregateError`, at most 5. */
  errors?: LoggedError[];
}

const maxCauses = 4;
const maxMessage = 2_000;

/**
 * Describes anything that was thrown by its message, kind, causes and, for a defect, its stack. Everything else is left
 * out, because drivers attach commands, requests and bodies to their errors, with prompts and credentials in them.
 */
export function describeError(thrown: unknown, depth = 0): LoggedError {
  if (!(thrown instanceof Error))
    return { name: 'Thrown', message: `a thrown ${thrown === null ? 'null' : typeof thrown}` };
  const message = safeMessage(thrown);
  const described: LoggedError = { name: thrown.name, message };
  const stack = isExpected(thrown) ? undefined : safeStack(thrown, message);
  if (stack !== undefined) described.stack = stack;
  if (thrown instanceof SluiceError) {
    described.kind = thrown.kind;
    if (thrown.options.detail) described.detail = thrown.options.detail;
  } else if ('code' in thrown && (typeof thrown.code === 'string' || typeof thrown.code === 'number')) {
    described.code = String(thrown.code);
  }
  if (depth < maxCauses) {
    if (thrown.cause !== undefined) described.cause = describeError(thrown.cause, depth + 1);
    if (thrown instanceof AggregateError) {
      described.errors = thrown.errors.slice(0, 5).map((error) => describeError(error, depth + 1));
    }
  }
  return described;
}

/** Whether the error is a refusal by our own code or a failure of a socket or file, for which a stack is of no help. */
function isExpected(error: Error): boolean {
  return error instanceof SluiceError ? error.kind !== 'internal' : 'syscall' in error;
}

/** The message without secrets. JSON.parse quotes its input, which may be a prompt, so its message is replaced. */
function safeMessage(error: Error): string {
  if (error instanceof SyntaxError && /JSON/.test(error.message)) return 'text is not valid JSON';
  return maskText(error.message.slice(0, maxMessage));
}

/** The stack repeats the message, so only its frames are kept. */
function safeStack(error: Error, message: string): string | undefined {
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line));
  if (!frames || frames.length === 0) return undefined;
  return [`${error.name}: ${message}`, ...frames].join('\n');
}
