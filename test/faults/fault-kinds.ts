import type { Installation } from './installation.ts';
import { processFaults } from './process-faults.ts';
import { proxyFaults } from './proxy-faults.ts';
import type { Random } from './random.ts';
import { redisFaults } from './redis-faults.ts';

/** One way in which things break. */
export interface FaultKind {
  readonly name: string;
  /** What to break this time. Two faults never have the same target at the same time. */
  target(installation: Installation, random: Random): string;
  /** Breaks it and mends it again. */
  inflict(installation: Installation, target: string, random: Random): Promise<void>;
}

/** Only worker processes suffer. */
export const workerFaults: readonly FaultKind[] = processFaults.filter(({ name }) =>
  name.startsWith('worker'),
);

/** Everything between processes, and Redis; all of it leaves the processes of the gateway alive. */
export const survivableFaults: readonly FaultKind[] = [...redisFaults, ...proxyFaults];

/** Everything that there is. */
export const allFaults: readonly FaultKind[] = [...processFaults, ...survivableFaults];
