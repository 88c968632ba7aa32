import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFlags } from '../command-line.ts';
import { findSlowest } from './bad-input-budget.ts';
import { checkOut } from './checkout.ts';

interface Figures {
  rates: Record<string, number>;
  garbage: Record<string, number>;
}

const usage =
  'usage: npm run bench:codecs -- [--save FILE] [--against FILE | --commit COMMIT] [--runs 4]\n' +
  'Measures the codecs; fails where one is more than a tenth slower than what it is compared with,\n' +
  'or where a bad input takes longer than 50 ms.\n';
const repository = join(import.meta.dirname, '../../../..');
const slowerLimit = 0.9;
const badInputLimitMs = 50;

const values = readFlags(usage, {
  save: { type: 'string' },
  against: { type: 'string' },
  commit: { type: 'string' },
  runs: { type: 'string', default: '4' },
});

function runIn(folder: string): Figures {
  const script = join(folder, 'libs/formats/src/bench/run.ts');
  const output = execFileSync(process.execPath, ['--expose-gc', script], { encoding: 'utf8' });
  // The output is our own script's one line.
  return JSON.parse(output) as Figures;
}

/** The better of two runs, figure by figure. */
function better(left: Figures | undefined, right: Figures): Figures {
  if (!left) return right;
  const pick = (choose: (...of: number[]) => number, a: Record<string, number>, b: Record<string, number>) =>
    Object.fromEntries(Object.entries(b).map(([name, figure]) => [name, choose(figure, a[name] ?? figure)]));
  return {
    rates: pick(Math.max, left.rates, right.rates),
    garbage: pick(Math.min, left.garbage, right.garbage),
  };
}

function measureBoth(): { ours: Figures; theirs: Figures | undefined } {
  const runs = Number(values.runs);
  const checkout = values.commit === undefined ? undefined : checkOut(repository, values.commit);
  let ours: Figures | undefined;
  let theirs: Figures | undefined;
  try {
    // Alternating, so that a busy minute of the machine affects both.
    for (let run = 0; run < runs; run += 1) {
      if (checkout) theirs = better(theirs, runIn(checkout.folder));
      ours = better(ours, runIn(repository));
    }
  } finally {
    checkout?.close();
  }
  if (values.against !== undefined) theirs = JSON.parse(readFileSync(values.against, 'utf8')) as Figures;
  return { ours: ours ?? runIn(repository), theirs };
}

function report(ours: Figures, theirs: Figures | undefined): boolean {
  let isGood = true;
  for (const [name, rate] of Object.entries(ours.rates)) {
    const before = theirs?.rates[name];
    const ratio = before === undefined ? undefined : rate / before;
    const isSlower = ratio !== undefined && ratio < slowerLimit;
    isGood &&= !isSlower;
    const change = ratio === undefined ? '' : `${ratio.toFixed(2).padStart(6)}×${isSlower ? ' SLOWER' : ''}`;
    const bytes = ours.garbage[name] === undefined ? '' : `${String(ours.garbage[name]).padStart(7)} B each`;
    process.stdout.write(`${name.padEnd(34)}${rate.toLocaleString('en').padStart(12)} /s${bytes}${change}\n`);
  }
  return isGood;
}

function run(): void {
  const { ours, theirs } = measureBoth();
  const isFast = report(ours, theirs);
  const { id, tookMs } = findSlowest(() => performance.now());
  process.stdout.write(`slowest bad input: ${tookMs.toFixed(1)} ms (${id}), budget ${badInputLimitMs} ms\n`);
  if (values.save !== undefined) writeFileSync(values.save, `${JSON.stringify(ours, null, 2)}\n`);
  if (!isFast || tookMs > badInputLimitMs) process.exitCode = 1;
}

run();
