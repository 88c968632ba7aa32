import type { Installation } from '../installation/installation.ts';
import type { Random } from '../random.ts';
import { processFaults } from './process-faults.ts';
import { proxyFaults } from './proxy-faults.ts';
import { redisFaults } from './redis-faults.ts';

/** One way in which things break. */
export interface FaultKind {
  readonly name: string;
  /** Chooses what to break this time. Two faults never have the same target at the same time. */
  target(installation: Installation, random: Random): string;
  /** Breaks it and mends it again. */
  inflict(installation: Installation, target: string, random: Random): Promise<void>;
}

/** Faults that hit worker processes alone. */
export const workerFaults: readonly FaultKind[] = processFaults.filter(({ name }) =>
  name.startsWith('worker'),
);

/** Faults between processes and of Redis: no process of the gateway dies of them. */
export const survivableFaults: readonly FaultKind[] = [...redisFaults, ...proxyFaults];

/** Every kind of fault. */
export const allFaults: readonly FaultKind[] = [...processFaults, ...survivableFaults];
