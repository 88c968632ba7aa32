import type { FaultKind } from './fault-kind.ts';
import { processFaults } from './process-faults.ts';
import { proxyFaults } from './proxy-faults.ts';
import { redisFaults } from './redis-faults.ts';

/** Faults that hit worker processes alone. */
export const workerFaults: readonly FaultKind[] = processFaults.filter(({ name }) =>
  name.startsWith('worker'),
);

/** Faults between processes and of Redis: no process of the gateway dies of them. */
export const survivableFaults: readonly FaultKind[] = [...redisFaults, ...proxyFaults];

/** Every kind of fault. */
export const allFaults: readonly FaultKind[] = [...processFaults, ...survivableFaults];
