import { SluiceError } from '@sluice/canonical';
import { scenarioFlags } from './scenario-flags.ts';

const commandNames = ['run', 'search', 'report', 'upstream', 'bench'] as const;
export type CommandName = (typeof commandNames)[number];

const reports = ['csv', 'html'];
const outputs = ['json', ...reports, 'quiet', 'enforce'];
/** Flags that a search does not take, since it chooses the rates itself. */
const rates = ['rate', 'ramp', 'steps'];
const search = ['search-from', 'search-max', 'precision', 'beyond', 'settle'];
const scenario = Object.keys(scenarioFlags);

const flagsOf: Readonly<Record<CommandName, ReadonlySet<string>>> = {
  run: new Set([...scenario, ...outputs]).difference(new Set(search)),
  search: new Set([...scenario, ...outputs]).difference(new Set(rates)),
  report: new Set(reports),
  upstream: new Set(['port', 'host']),
  bench: new Set(['duration', 'users', 'processes']),
};

const filesOf: Readonly<Record<CommandName, { most: number; words: string }>> = {
  run: { most: 1, words: 'one scenario' },
  search: { most: 1, words: 'one scenario' },
  report: { most: Infinity, words: 'results' },
  upstream: { most: 0, words: 'no file' },
  bench: { most: 0, words: 'no file' },
};

/**
 * The command of this name. Throws `invalid-request` if there is none, and for files and flags that it does not take:
 * what would have no effect is a mistake.
 */
export function checkCommand(name: string, files: readonly string[], flags: readonly string[]): CommandName {
  const command = commandNames.find((known) => known === name);
  if (!command) throw new SluiceError('invalid-request', `no command is named ${name}; see --help`);
  const { most, words } = filesOf[command];
  if (files.length > most) {
    throw new SluiceError('invalid-request', `${command} takes ${words}; not known: ${files[most]}`);
  }
  const idle = flags.find((flag) => flag !== 'help' && !flagsOf[command].has(flag));
  if (idle === undefined) return command;
  const others = commandNames.filter((other) => flagsOf[other].has(idle)).join(' and ');
  throw new SluiceError('invalid-request', `--${idle} goes with ${others}, not with ${command}`);
}
