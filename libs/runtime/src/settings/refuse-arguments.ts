/**
 * Ends this process with a sentence if it was given arguments. An ingress or a worker reads its environment alone, and
 * a flag that is ignored looks obeyed: `--help` would take jobs. What was given may be secret, so it is not repeated.
 */
export function refuseArguments(program: string): void {
  if (process.argv.length <= 2) return;
  process.stderr.write(
    `sluice ${program}: takes no arguments; its settings are environment variables, see docs/configuration.md\n`,
  );
  process.exit(2);
}
