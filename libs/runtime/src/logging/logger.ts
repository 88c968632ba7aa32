import { type Bindings, type ChildLoggerOptions, type DestinationStream, type Logger, pino } from 'pino';
import { isPlain, isSecretName, mask, maskText } from '../settings/secrets.ts';
import { describeError } from './log-error.ts';
import { type LogOutput, openLogOutput } from './log-output.ts';

export type { Logger } from 'pino';

/** The levels of log lines, the least severe first; `silent` writes none. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** One of the levels. */
export type LogLevel = (typeof logLevels)[number];

/** What a logger writes, and where. */
export interface LoggerOptions {
  /** Name of the process: `ingress`, `worker`. */
  name: string;
  /** The least severe level that is written; default `info`. */
  level?: LogLevel;
  /** Where lines go; default standard output. */
  destination?: DestinationStream;
}

/** Fields with texts of people or models. Nobody may log them, and if it happens they are masked. */
const contentNames: ReadonlySet<string> = new Set([
  'body',
  'completion',
  'content',
  'contents',
  'messages',
  'prompt',
  'request',
  'text',
]);
const maxDepth = 6;
/** Characters that may wait for a stalled reader of the log. Beyond that, lines are dropped, so that streams go on. */
const maxWaiting = 16 * 1024 * 1024;

let standardOutput: LogOutput | undefined;

/**
 * Creates a logger that writes one JSON object per line: level as a word, ISO time, process name, fields, `msg`. The
 * rule is that nobody logs credentials, prompts or completions; as a second net, they are masked by field name and by
 * shape. Of errors, only message, stack, kind, code and causes are written.
 */
export function createLogger({ name, level = 'info', destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      name,
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (value: unknown) => value },
      formatters: {
        level: (label) => ({ level: label }),
        bindings: redactFields,
        log: redactFields,
      },
      hooks: {
        streamWrite: maskText,
        // pino would use the message of a bare error as the message of the line, bypassing the redaction.
        logMethod(args, method) {
          if (args[0] instanceof Error && args[1] === undefined) args[1] = describeError(args[0]).message;
          method.apply(this, args);
        },
      },
    },
    destination ?? openStandardOutput(),
  );
  const { child } = logger;
  // In pino, children inherit every formatter except that of bindings.
  Object.defineProperty(logger, 'child', {
    value(this: Logger, bindings: Bindings, options?: ChildLoggerOptions) {
      return Reflect.apply(child, this, [redactFields(bindings), options]);
    },
  });
  return logger;
}

/** The one output of all loggers of the process. It is flushed when the process exits. */
function openStandardOutput(): LogOutput {
  if (!standardOutput) {
    standardOutput = openLogOutput(1, maxWaiting);
    process.on('exit', standardOutput.flushSync);
  }
  return standardOutput;
}

function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  const redacted: Record<string, unknown> = {};
  for (const name in fields) redacted[name] = redact(name, fields[name], 0);
  return redacted;
}

function redact(name: string, value: unknown, depth: number): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined || value === null)
    return value;
  if (contentNames.has(name) || isSecretName(name)) return mask;
  if (typeof value !== 'object') return value;
  if (value instanceof Error) return describeError(value);
  if (depth >= maxDepth) return '…';
  if (Array.isArray(value)) return value.map((item) => redact(name, item, depth + 1));
  // An instance of a class, such as a request or a socket, holds far more than was meant to be logged.
  if (!isPlain(value)) return 'toJSON' in value ? value : `[${value.constructor.name}]`;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redact(key, inner, depth + 1)]),
  );
}
