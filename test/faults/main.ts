import { parseArgs } from 'node:util';
import { type Figure, formatTable } from './figure.ts';
import { measureAborts, measureBudget, measureSlowReaders } from './figures/clients.ts';
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
`;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    faults: { type: 'string', default: '500' },
    concurrency: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    'redis-down': { type: 'string', default: '2,20' },
    'log-to': { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});

const [requests, faults, concurrency, seed] = [
  values.requests,
  values.faults,
  values.concurrency,
  values.seed,
].map(Number) as [number, number, number, number];

const outages = values['redis-down'].split(',').map((seconds) => 1_000 * Number(seconds));

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** In the order of the table. */
const measurements: Readonly<Record<string, () => Promise<Figure[]>>> = {
  'all-faults': () =>
    measureAllFaults({ requests, faults, seed, concurrency, print, logTo: values['log-to'] }),
  'worker-faults': () =>
    measureWorkerFaults({
      ...{
        requests: Math.round(requests / 5),
        faults: Math.round(faults / 10),
        seed,
        concurrency,
        print,
        logTo: '',
      },
    }),
  'redis-restarts': () => measureRestarts(5),
  failovers: () => measureFailovers(6, 60),
  'worker-kill': measureWorkerKill,
  'subscriber-kills': () => measureSubscriberKills(60_000),
  'redis-outage': () => measureOutage(outages),
  aborts: () => measureAborts(100),
  budget: () => measureBudget(500, 10),
  'rolling-restart': measureRollingRestart,
  'slow-readers': () => measureSlowReaders(1_000),
};

if (values.help) print(help);
else {
  const wanted = values.only.split(',').filter(Boolean);
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(measurements)) {
    if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
    print(`\n${name} …`);
    const found = await measure();
    figures.push(...found);
    for (const { test, measured } of found) print(`  ${test}: ${measured}`);
  }
  print(`\nseed ${seed}\n\n${formatTable(figures)}`);
  process.exit(figures.every(({ isMet }) => isMet) ? 0 : 1);
}
