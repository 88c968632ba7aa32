/** What `parseArgs` reads where `--help` is among the options. */
interface CommandLine {
  values: { help?: boolean | undefined };
}

/** The words that `read` reads. Ends the process with the help where it is asked for, or where a word is wrong. */
export function readCommandLine<Words extends CommandLine>(help: string, read: () => Words): Words {
  const words = readOrEnd(help, read);
  if (!words.values.help) return words;
  process.stdout.write(help);
  return process.exit(0);
}

function readOrEnd<Words>(help: string, read: () => Words): Words {
  try {
    return read();
  } catch (thrown) {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${help}`);
    return process.exit(2);
  }
}
