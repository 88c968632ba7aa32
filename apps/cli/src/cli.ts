import { parseArgs } from 'node:util';
import { SluiceError } from '@sluice/canonical';
import { ConfigError, type Environment, spellingHint } from '@sluice/runtime';
import { type Answer, type Command, type Input, messageOf, UsageError } from './command.ts';
import { keyCommands } from './commands/keys.ts';
import { limitCommands } from './commands/limits.ts';
import { tenantCommands } from './commands/tenants.ts';
import { parseConfig } from './config.ts';
import { formatHelp, formatOverview } from './help.ts';
import { openServices, type Services } from './services.ts';

const commands: readonly Command[] = [...keyCommands, ...tenantCommands, ...limitCommands];

/** The world around one run. */
export interface Surroundings {
  environment: Environment;
  now: () => number;
  /** Writes the answer. Rejects if it can't be written. */
  write(text: string): Promise<void>;
  /** Writes a complaint. */
  writeError(text: string): void;
}

/** Runs one command line. Resolves to the exit code: 0 done, 1 not possible, 2 not understood. */
export async function runCli(line: readonly string[], surroundings: Surroundings): Promise<0 | 1 | 2> {
  try {
    return (await deliver(await answer(line, surroundings), surroundings)) ? 0 : 1;
  } catch (error) {
    const isMistake = error instanceof SluiceError && error.kind === 'invalid-request';
    surroundings.writeError(`sluice: ${messageOf(error)}\n`);
    if (error instanceof UsageError) surroundings.writeError('sluice --help shows what there is\n');
    return isMistake || error instanceof ConfigError ? 2 : 1;
  }
}

/** What a command line answers. */
interface Reply {
  text: string;
  /** Whether the command changed something, so that the change stands even if nobody reads the text. */
  hasChanged: boolean;
}

/**
 * Writes the answer; returns whether that succeeded. If it fails, the operator must still learn that a change was made.
 */
async function deliver({ text, hasChanged }: Reply, { write, writeError }: Surroundings): Promise<boolean> {
  try {
    await write(`${text}\n`);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // `| head` has seen enough of a list.
    if (code === 'EPIPE' && !hasChanged) return true;
    const why = code === undefined ? '' : ` (${code})`;
    const done = hasChanged ? ', but what was asked for is done' : '';
    writeError(`sluice: the answer could not be written${why}${done}\n`);
    return false;
  }
}

async function answer(line: readonly string[], surroundings: Surroundings): Promise<Reply> {
  const [noun = '--help', verb = '--help', ...rest] = line;
  if (isHelp(noun) || noun === 'help') return helpOf(formatOverview(commands));
  const ofNoun = commands.filter(({ name }) => name.startsWith(`${noun} `));
  if (ofNoun.length === 0) throw unknownCommand(noun, noun, wordsOf(commands, 0));
  if (isHelp(verb) || verb === 'help') return helpOf(formatOverview(ofNoun));
  const command = ofNoun.find(({ name }) => name === `${noun} ${verb}`);
  if (!command) throw unknownCommand(`${noun} ${verb}`, verb, wordsOf(ofNoun, 1));
  return rest.some(isHelp) ? helpOf(formatHelp(command)) : runCommand(command, rest, surroundings);
}

function helpOf(text: string): Reply {
  return { text, hasChanged: false };
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

function wordsOf(some: readonly Command[], index: 0 | 1): Set<string> {
  return new Set(some.map(({ name }) => name.split(' ')[index] ?? ''));
}

function unknownCommand(typed: string, word: string, known: Set<string>): UsageError {
  return new UsageError(`there is no command ${typed}${spellingHint(word, known)}`);
}

async function runCommand(
  command: Command,
  line: readonly string[],
  surroundings: Surroundings,
): Promise<Reply> {
  const { input, isJson } = parseLine(command, line, surroundings.now());
  const { config, warnings } = parseConfig(surroundings.environment);
  for (const warning of warnings) surroundings.writeError(`sluice: ${warning}\n`);
  using services = new OpenedServices(() => openServices(config));
  const { text, data }: Answer = await command.run(input, services.open);
  return { text: isJson ? JSON.stringify(data, null, 2) : text, hasChanged: !command.isReadOnly };
}

/** Opens the services when a command first asks for them, and closes them if they were opened. */
class OpenedServices implements Disposable {
  readonly open: () => Promise<Services>;
  private opened: Services | undefined;

  constructor(open: () => Promise<Services>) {
    this.open = async () => {
      this.opened ??= await open();
      return this.opened;
    };
  }

  [Symbol.dispose](): void {
    this.opened?.[Symbol.dispose]();
  }
}

function parseLine(
  command: Command,
  line: readonly string[],
  startedAt: number,
): { input: Input; isJson: boolean } {
  const flags = Object.entries(command.flags).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  const { values, positionals: words } = parseFlags(
    line,
    Object.fromEntries([...flags, ['json', { type: 'boolean' }]]),
  );
  const [fewest, most] = command.arity ?? [0, 0];
  if (words.length < fewest) throw new UsageError(`${command.name} needs ${command.words}`);
  if (words.length > most)
    throw new UsageError(`${command.name} has no use for ${JSON.stringify(words[most])}`);
  const text = (flag: string) => {
    const value = values[flag];
    return typeof value === 'string' ? value : undefined;
  };
  const input: Input = { words, text, isSet: (flag) => values[flag] === true, startedAt };
  return { input, isJson: input.isSet('json') };
}

type FlagTypes = Record<string, { type: 'boolean' | 'string' }>;

function parseFlags(line: readonly string[], options: FlagTypes) {
  const { tokens, ...parsed } = splitLine(line, options);
  const flags = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const twice = flags.find((flag, index) => flags.indexOf(flag) !== index);
  // The parser would let the last one win. With two `--tenant`, a key could be minted for the wrong one.
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice`);
  return parsed;
}

function splitLine(line: readonly string[], options: FlagTypes) {
  try {
    return parseArgs({ args: [...line], options, allowPositionals: true, strict: true, tokens: true });
  } catch (error) {
    // The parser's first sentence says which flag is wrong; the others advise on quoting.
    const [sentence = ''] = error instanceof Error ? error.message.split(/\.(?:\s|$)/) : [];
    throw new UsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1));
  }
}
