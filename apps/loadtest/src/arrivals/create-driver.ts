import { assertNever } from '@sluice/canonical';
import { createRandom } from '../random.ts';
import { arrivalInstants, peakRate } from './arrivals.ts';
import { ClosedDriver } from './closed-driver.ts';
import type { DriverOptions, LoadDriver } from './load-driver.ts';
import { OpenDriver } from './open-driver.ts';
import type { TraceEntry } from './trace.ts';

/** The driver of the scenario's kind of load. */
export function createDriver(options: DriverOptions): LoadDriver {
  const { load } = options.scenario;
  switch (load.kind) {
    case 'open': {
      const random = createRandom(options.scenario.seed);
      const instants = arrivalInstants(load.profile, load.spacing, random);
      return new OpenDriver(options, {
        instants,
        rate: peakRate(load.profile) / options.share.of,
        isEven: load.spacing === 'constant',
      });
    }
    case 'trace':
      return new OpenDriver(options, {
        instants: traceInstants(options.trace ?? []),
        rate: 1000,
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
