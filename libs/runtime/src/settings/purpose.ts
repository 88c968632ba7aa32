/** What a program is started for: to serve, or only to tell whether its settings are valid. */
export type Purpose = 'serve' | 'check';

/**
 * Reads the arguments of this process: none, or `--check`. Ends it with a sentence if there are others, because a flag
 * that is ignored looks obeyed: `--help` would take jobs. What was given may be secret, so it is not repeated.
 */
export function readPurpose(program: string): Purpose {
  const [argument, ...others] = process.argv.slice(2);
  if (argument === undefined) return 'serve';
  if (argument === '--check' && others.length === 0) return 'check';
  process.stderr.write(
    `sluice ${program}: takes no arguments but --check, which tells whether its settings are valid; they are environment variables, see docs/configuration.md\n`,
  );
  process.exit(2);
}
