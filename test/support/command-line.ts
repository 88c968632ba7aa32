/** What every command reads beside its own flags. */
interface Words {
  help?: boolean | undefined;
}

/** Returns what `read` returns. Prints the help and ends the process if help is asked for, or if `read` throws. */
export function readCommandLine<Read extends Words>(help: string, read: () => Read): Read {
  const words = readOrEnd(help, read);
  if (!words.help) return words;
  process.stdout.write(help);
  return process.exit(0);
}

function readOrEnd<Read>(help: string, read: () => Read): Read {
  try {
    return read();
  } catch (thrown) {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${help}`);
    return process.exit(2);
  }
}

/** A flag's value as a whole number. Throws a sentence if it is none, or less than `least`. */
export function wholeNumber(flag: string, text: string, least = 1): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`--${flag} must be a whole number, ${least} or more`);
}

/** A flag's value as a number above 0. Throws a sentence if it is none. */
export function positiveNumber(flag: string, text: string): number {
  if (Number(text) > 0 && Number.isFinite(Number(text))) return Number(text);
  throw new Error(`--${flag} must be a number above 0`);
}

/** A flag's value as one of `words`. Throws a sentence if it is none of them. */
export function oneOf<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new Error(`--${flag} must be ${words.join(' or ')}`);
}

/** Returns the given names. Throws a sentence about the first that is not known. */
export function knownNames(given: readonly string[], known: readonly string[]): string[] {
  const stranger = given.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new Error(`there is no ${stranger}; there are ${known.join(', ')}`);
  return [...given];
}
