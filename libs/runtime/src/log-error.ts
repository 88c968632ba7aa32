import { SluiceError } from '@sluice/canonical';
import { maskText } from './secrets.ts';

/** What a log line says of an error. */
export interface LoggedError {
  name: string;
  message: string;
  /** Where it was thrown; absent of a failure that is no defect, which its message tells. */
  stack?: string;
  /** Of our own errors. */
  kind?: string;
  detail?: string;
  /** Of the system's and drivers' errors: `ECONNREFUSED`. */
  code?: string;
  cause?: LoggedError;
  /** The members of an `AggregateError`, at most 5. */
  errors?: LoggedError[];
}

const maxCauses = 4;
const maxMessage = 2_000;

/**
 * Message, kind, causes and, of a defect, stack of anything that was thrown, and nothing else of it: drivers hang commands,
 * requests and bodies on their errors, which hold prompts and credentials.
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

/** What our own code refuses and what the system says of sockets and files: its place in the code mends nothing. */
function isExpected(error: Error): boolean {
  return error instanceof SluiceError ? error.kind !== 'internal' : 'syscall' in error;
}

/** JSON.parse quotes its input, which is a stranger's text. */
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
