import { type ParseArgsConfig, parseArgs } from 'node:util';

type Flags = NonNullable<ParseArgsConfig['options']>;
type Values<Given extends Flags> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

/** The flags of this process. A mistake, or `--help`, ends the process with what there is, and never with a stack. */
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

/** Ends the process over a flag that can't be used. */
export function refuse(usage: string, fact: string): never {
  process.stderr.write(`${fact}\n${usage}`);
  process.exit(2);
}
