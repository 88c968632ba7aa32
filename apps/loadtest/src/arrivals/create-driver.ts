import { assertNever } from '@sluice/canonical';
import { createRandom } from '../random.ts';
import { arrivalInstants, peakRate } from './arrivals.ts';
import { ClosedDriver } from './closed-driver.ts';
import type { DriverOptions, LoadDriver } from './load-driver.ts';
import { OpenDriver } from './open-driver.ts';
import type { TraceEntry } from './trace.ts';

/** Below this rate a process polls for the exact instant of sending. Above it, polling would waste a core. */
const preciseBelowRate = 250;

/** The driver of the scenario's kind of load. */
export function createDriver(options: DriverOptions): LoadDriver {
  const { scenario, share, trace = [] } = options;
  const { load } = scenario;
  const isPrecise = (rate: number) => rate / share.of < preciseBelowRate;
  switch (load.kind) {
    case 'open': {
      const random = createRandom(scenario.seed);
      const instants = arrivalInstants(load.profile, load.spacing, random);
      return new OpenDriver(options, {
        instants,
        isPrecise: isPrecise(peakRate(load.profile)),
        isEven: load.spacing === 'constant',
      });
    }
    case 'trace':
      return new OpenDriver(options, {
        instants: traceInstants(trace),
        isPrecise: isPrecise(meanRate(trace)),
        isEven: false,
      });
    case 'closed':
      return new ClosedDriver(options, load);
    default:
      return assertNever(load);
  }
}

function* traceInstants(trace: readonly TraceEntry[]): Generator<number> {
  for (const { atMs } of trace) yield atMs;
}

/** Arrivals per second; infinite if all come at once. */
function meanRate(trace: readonly TraceEntry[]): number {
  return (trace.length * 1000) / (trace.at(-1)?.atMs ?? 0);
}
