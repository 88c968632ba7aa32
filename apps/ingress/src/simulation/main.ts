import { parseArgs } from 'node:util';
import { play } from './play.ts';
import { drawSchedule } from './schedule.ts';
import { describeCounterexample, shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    /** How many schedules to play. */
    count: { type: 'string', default: '1000000' },
    /** First seed; the others follow it. Default: the time of day, so that every run plays new ones. */
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  },
});

const count = Number(values.count);
const first = Number(values.seed);
const startedAt = performance.now();
const totals = { complete: 0, error: 0, refused: 0, left: 0, runs: 0, fenced: 0 };
process.stdout.write(`playing ${count} schedules from seed ${first}\n`);
for (let seed = first; seed < first + count; seed += 1) {
  const { failure, clients, runs, fencedFrames } = await play(drawSchedule(seed));
  if (failure !== undefined) {
    process.stdout.write(`\nseed ${seed}: ${describeCounterexample(await shrink(drawSchedule(seed)))}\n`);
    process.stdout.write(
      `\nplay it alone: npm run simulate -w @sluice/ingress -- --seed ${seed} --count 1\n`,
    );
    process.exitCode = 1;
    break;
  }
  for (const { outcome } of clients) totals[outcome ?? 'left'] += 1;
  totals.runs += runs.length;
  totals.fenced += fencedFrames;
  if ((seed - first + 1) % 100_000 === 0) process.stdout.write(`${seed - first + 1} played\n`);
}
const seconds = (performance.now() - startedAt) / 1_000;
process.stdout.write(`${JSON.stringify(totals)} in ${seconds.toFixed(1)} s\n`);
