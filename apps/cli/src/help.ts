import { usualRedis } from '@sluice/transport';
import type { Command } from './command.ts';
import { formatTable } from './print.ts';

const everywhere: [string, string][] = [
  ['--json', 'answer in JSON'],
  ['--help', 'show this'],
];

/** Help over several commands: the whole program, or one of its nouns. */
export function formatOverview(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [`  ${name}`, summary]);
  return [
    'usage: sluice COMMAND [WORDS] [FLAGS]',
    '',
    formatTable(['commands:', ''], rows, ''),
    '',
    'sluice COMMAND --help tells the rest.',
    `settings: SLUICE_REDIS_URL (${usualRedis}), SLUICE_KEY_SECRET (for keys mint).`,
  ].join('\n');
}

/** Help over one command. */
export function formatHelp({ name, summary, words, flags }: Command): string {
  const rows = Object.entries(flags).map(([flag, { value, summary: meaning }]) => [
    `  --${flag}${value ? ` ${value}` : ''}`,
    meaning,
  ]);
  const all = [...rows, ...everywhere.map(([flag, meaning]) => [`  ${flag}`, meaning])];
  return [
    `usage: sluice ${name}${words ? ` ${words}` : ''} [FLAGS]`,
    '',
    `${summary}.`,
    '',
    formatTable(['flags:', ''], all, ''),
  ].join('\n');
}
