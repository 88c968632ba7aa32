/** A piece of the hot path that is measured by itself. */
export interface Subject {
  /** Unique among all; results of two checkouts are compared by it. */
  readonly name: string;
  /** What one operation is. */
  readonly unit: string;
  /** True for code that is not ours: it is shown for reference and left out of comparisons. */
  readonly isReference?: boolean;
  /** Prepares the piece of the checkout in `root`. */
  open(root: string): Promise<Ready>;
}

/** A piece that is ready to run. */
export interface Ready {
  /** Operations of one batch. */
  readonly operations: number;
  /** Runs one batch. Its CPU time in this process is what counts. */
  batch(): void | Promise<void>;
  /** Called after the last batch, before `facts`. */
  finish?(): Promise<void>;
  /** Facts beside the time, such as messages per operation. */
  facts?(): Readonly<Record<string, number>>;
  close?(): Promise<void>;
}

/** What a subject costs. */
export interface Cost {
  name: string;
  unit: string;
  /** CPU nanoseconds of this process, all threads, per operation. */
  cpuNs: number;
  facts: Readonly<Record<string, number>>;
}

const warmUpMs = 200;
const batches = 12;
const batchMs = 40;

/**
 * Measures a subject. Only the least disturbed quarter of its batches counts, since other processes on the machine can
 * only add to a cost.
 */
export async function measureSubject(subject: Subject, root: string): Promise<Cost> {
  const ready = await subject.open(root);
  try {
    const startedAt = performance.now();
    let runs = 0;
    while (performance.now() - startedAt < warmUpMs || runs === 0) {
      await ready.batch();
      runs += 1;
    }
    const repeats = Math.max(1, Math.round((runs * batchMs) / (performance.now() - startedAt)));
    const costs: number[] = [];
    for (let batch = 0; batch < batches; batch++) {
      const before = process.cpuUsage();
      for (let repeat = 0; repeat < repeats; repeat++) await ready.batch();
      const { user, system } = process.cpuUsage(before);
      costs.push(((user + system) * 1000) / (repeats * ready.operations));
    }
    await ready.finish?.();
    costs.sort((a, b) => a - b);
    const cpuNs = costs[batches >> 2] ?? Number.NaN;
    return { name: subject.name, unit: subject.unit, cpuNs, facts: ready.facts?.() ?? {} };
  } finally {
    await ready.close?.();
  }
}
