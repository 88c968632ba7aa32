import { parseArgs } from 'node:util';
import { readCommandLine, wholeNumber } from '../support/command-line.ts';
import { exitOnSignals } from '../support/exit-on-signals.ts';
import { repository } from '../support/repository.ts';
import { openWorktree, type Worktree, WorktreeError } from '../support/worktree.ts';
import { type Figure, formatTable } from './figure.ts';
import { measureAborts, measureConcurrency, measureSlowReaders } from './figures/clients.ts';
import { measureFailovers } from './figures/failover.ts';
import { measureOutage, measureRestarts, measureSubscriberKills } from './figures/redis-away.ts';
import { measureRollingRestart } from './figures/rolling-restart.ts';
import { measureAllFaults, measureWorkerFaults } from './figures/under-faults.ts';
import { measureWorkerKill } from './figures/worker-kill.ts';

const help = `Breaks whole gateways and prints the targets with their figures.

  --requests N      requests under all faults (10000)
  --faults N        faults among them, at least (500)
  --concurrency N   requests at the same time (60)
  --seed N          the same seed breaks the same things (1)
  --redis-down S    outages of Redis, in seconds, with commas between (2,20)
  --log-to FILE     writes the log of the run under all faults, to look into a violation
  --only WORDS      figures whose name holds one of these, with commas between
  --beside COMMIT   this checkout beside a commit: of each role both run, and each process that goes is followed by one
                    of the other version. Only figures about several processes of both roles
`;

interface Words {
  requests: number;
  faults: number;
  concurrency: number;
  seed: number;
  /** Of the measurements to take. */
  names: string[];
  /** Length of each outage of Redis, milliseconds. */
  outages: number[];
  /** Empty: nowhere. */
  logTo: string;
  /** The commit that runs beside this checkout; empty: none. */
  beside: string;
  help: boolean;
}

interface Run extends Words {
  /** As `InstallationOptions.checkouts`. */
  checkouts: readonly string[];
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** In the order of the table. */
const measurements: Readonly<Record<string, (run: Run) => Promise<Figure[]>>> = {
  'all-faults': (run) => measureAllFaults({ ...run, print }),
  'worker-faults': (run) =>
    measureWorkerFaults({
      ...run,
      requests: Math.round(run.requests / 5),
      faults: Math.round(run.faults / 10),
      print,
      logTo: '',
    }),
  'redis-restarts': () => measureRestarts(5),
  failovers: () => measureFailovers(6, 60),
  'worker-kill': ({ checkouts }) => measureWorkerKill(checkouts),
  'subscriber-kills': () => measureSubscriberKills(60_000),
  'redis-outage': ({ outages }) => measureOutage(outages),
  aborts: () => measureAborts(100),
  concurrency: () => measureConcurrency(500, 10),
  'rolling-restart': ({ checkouts }) => measureRollingRestart(checkouts),
  'slow-readers': () => measureSlowReaders(1_000),
};
/** Those in which several processes serve and are replaced, so that two versions can be among them. */
const ofVersions: readonly string[] = ['all-faults', 'worker-faults', 'worker-kill', 'rolling-restart'];

exitOnSignals();
const words = readCommandLine(help, readWords);
const other = words.beside === '' ? undefined : await openOther(words.beside);
const run: Run = { ...words, checkouts: other ? [repository, other.root] : [] };
const figures: Figure[] = [];
for (const [name, measure] of Object.entries(measurements)) {
  if (!words.names.includes(name)) continue;
  print(`\n${name} …`);
  const found = await measure(run);
  figures.push(...found);
  for (const { test, measured } of found) print(`  ${test}: ${measured}`);
}
print(`\nseed ${words.seed}${other ? `, beside ${other.name}` : ''}\n\n${formatTable(figures)}`);
await other?.remove();
process.exit(figures.every(({ isMet }) => isMet) ? 0 : 1);

/** Ends this program with a sentence if there is no such commit. */
async function openOther(commit: string): Promise<Worktree> {
  try {
    return await openWorktree(repository, commit);
  } catch (thrown) {
    if (!(thrown instanceof WorktreeError)) throw thrown;
    process.stderr.write(`${thrown.message}\n`);
    return process.exit(2);
  }
}

function readWords(): Words {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '10000' },
      faults: { type: 'string', default: '500' },
      concurrency: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
      'redis-down': { type: 'string', default: '2,20' },
      'log-to': { type: 'string', default: '' },
      beside: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const names = values.beside === '' ? Object.keys(measurements) : ofVersions;
  const only = values.only.split(',').filter(Boolean);
  const stranger = only.find((word) => !names.some((name) => name.includes(word)));
  if (stranger !== undefined) {
    throw new Error(`no figure's name holds ${stranger}; there are ${names.join(', ')}`);
  }
  return {
    requests: wholeNumber('requests', values.requests),
    faults: wholeNumber('faults', values.faults, 0),
    concurrency: wholeNumber('concurrency', values.concurrency),
    seed: wholeNumber('seed', values.seed, 0),
    names: names.filter((name) => only.length === 0 || only.some((word) => name.includes(word))),
    outages: values['redis-down'].split(',').map((text) => 1_000 * wholeNumber('redis-down', text)),
    logTo: values['log-to'],
    beside: values.beside,
    help: values.help,
  };
}
