import { type Bindings, type ChildLoggerOptions, type DestinationStream, type Logger, pino } from 'pino';
import { describeError } from './log-error.ts';
import { type LogOutput, openLogOutput } from './log-output.ts';
import { isPlain, isSecretName, mask, maskText } from './secrets.ts';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerOptions {
  /** The process: `ingress`, `worker`. */
  name: string;
  /** The least level that is written; `info` when absent. */
  level?: LogLevel;
  /** Where lines go; standard output when absent. */
  destination?: DestinationStream;
}

/** Fields that hold what people wrote or models answered; nobody may log them, and if somebody does they are masked. */
const contentNames: ReadonlySet<string> = new Set([
  ...['body', 'completion', 'content', 'contents', 'messages', 'prompt', 'request', 'text'],
]);
const maxDepth = 6;
/** A reader of the log that stalls must not stall the streams: past so many characters, lines are dropped instead. */
const maxWaiting = 16 * 1024 * 1024;

let standardOutput: LogOutput | undefined;

/**
 * A logger that writes one JSON object per line: level as a word, ISO time, process name, fields, `msg`.
 * Credentials, prompts and completions are masked by name and by shape, as a second net under the rule that
 * nobody passes them; of errors only message, stack, kind, code and causes are written.
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
        // pino would make the message of a bare error the line's message, unread by the redaction.
        logMethod(args, method) {
          if (args[0] instanceof Error && args[1] === undefined) args[1] = describeError(args[0]).message;
          method.apply(this, args);
        },
      },
    },
    destination ?? openStandardOutput(),
  );
  const { child } = logger;
  // Children inherit every formatter of pino but the one of bindings.
  Object.defineProperty(logger, 'child', {
    value(this: Logger, bindings: Bindings, options?: ChildLoggerOptions) {
      return Reflect.apply(child, this, [redactFields(bindings), options]);
    },
  });
  return logger;
}

/** One for all loggers of the process, which writes its last lines before it ends. */
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
  // A request, a socket or a client of a driver holds far more than its logger meant.
  if (!isPlain(value)) return 'toJSON' in value ? value : `[${value.constructor.name}]`;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redact(key, inner, depth + 1)]),
  );
}
