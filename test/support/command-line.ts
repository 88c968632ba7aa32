/** What every command reads beside its own flags. */
interface Words {
  help?: boolean | undefined;
}

/** What `read` reads. Ends the process with the help where it is asked for, or where a word is wrong. */
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

/** The whole number of a flag. Throws a sentence when it is none, or less than `least`. */
export function wholeNumber(flag: string, text: string, least = 1): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`--${flag} must be a whole number, ${least} or more`);
}

/** The number above 0 of a flag. Throws a sentence when it is none. */
export function positiveNumber(flag: string, text: string): number {
  if (Number(text) > 0 && Number.isFinite(Number(text))) return Number(text);
  throw new Error(`--${flag} must be a number above 0`);
}

/** The word of a flag. Throws a sentence when it is none of `words`. */
export function oneOf<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new Error(`--${flag} must be ${words.join(' or ')}`);
}

/** The given names. Throws a sentence about the first that is not known. */
export function knownNames(given: readonly string[], known: readonly string[]): string[] {
  const stranger = given.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new Error(`there is no ${stranger}; there are ${known.join(', ')}`);
  return [...given];
}
