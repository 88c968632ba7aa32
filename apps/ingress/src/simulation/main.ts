import { parseArgs } from 'node:util';
import { play } from './play.ts';
import { drawSchedule } from './schedule.ts';
import { describeCounterexample, shrink } from './shrink.ts';

const usage = `npm run simulate -w @sluice/ingress -- [--count N] [--seed N]

  --count N  how many schedules to play (1000000)
  --seed N   the first seed, the others follow it (the time of day, so that every run plays new ones)
`;
const { count, first } = readFlags();
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

function readFlags(): { count: number; first: number } {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    const { values } = parseArgs({ options: { count: { type: 'string' }, seed: { type: 'string' } } });
    const count = readNumber('--count', values.count ?? '1000000');
    return { count, first: readNumber('--seed', values.seed ?? String(Date.now() % 1_000_000_000)) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exit(2);
  }
}

function readNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new TypeError(`${name} must be a whole number`);
}
