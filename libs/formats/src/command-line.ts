import { type ParseArgsConfig, parseArgs } from 'node:util';

type Flags = NonNullable<ParseArgsConfig['options']>;
type Values<Given extends Flags> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

/**
 * Parses the flags of this process. On a mistake or `--help` it prints the usage and ends the process, never with a
 * stack trace.
 */
export function readFlags<const Given extends Flags>(usage: string, flags: Given): Values<Given> {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ options: flags }).values;
  } catch (error) {
    refuse(usage, error instanceof Error ? error.message : String(error));
  }
}

/** Ends the process because of an unusable flag. */
export function refuse(usage: string, fact: string): never {
  process.stderr.write(`${fact}\n${usage}`);
  process.exit(2);
}
