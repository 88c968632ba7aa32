import { Counter, Gauge, type Registry } from 'prom-client';
import { SeriesTable } from './series-table.ts';

/*
 * Counters and gauges that are counted here and handed to prom-client at each scrape: a request moves about ten of them,
 * each of which takes prom-client 0.33 µs, and takes 0.06 here.
 */

type Labels = Readonly<Record<string, string>>;

/** Name and labels of a metric, and where it is registered. */
export interface MetricConfig {
  name: string;
  help: string;
  labelNames: string[];
  registers: Registry[];
}

interface Counted {
  readonly labels: Labels;
  /** What was counted since the last scrape; absent if nothing was, not even 0. */
  added: number | undefined;
}

/** Creates what `CounterOf` describes; these series start at 0. A number that is not ≥ 0 is not counted. */
export function createCounter(config: MetricConfig, begun: readonly Labels[]) {
  const table = new SeriesTable<Counted>(config.labelNames, (labels) => ({ labels, added: undefined }));
  const exported: Counter = new Counter({
    ...config,
    collect: () => {
      for (const series of table.all()) {
        if (series.added !== undefined) exported.inc({ ...series.labels }, series.added);
        series.added = undefined;
      }
    },
  });
  const add = (labels: Labels, by = 1): void => {
    if (!(by >= 0 && by < Number.POSITIVE_INFINITY)) return;
    const series = table.of(labels);
    series.added = (series.added ?? 0) + by;
  };
  for (const labels of begun) add(labels, 0);
  return config.labelNames.length > 0 ? { inc: add } : { inc: (by?: number) => add(noLabels, by) };
}

interface Level {
  readonly labels: Labels;
  value: number;
}

/** Creates what `GaugeOf` describes. */
export function createGauge(config: MetricConfig) {
  const readers: (() => void)[] = [];
  const table = new SeriesTable<Level>(config.labelNames, (labels) => ({ labels, value: 0 }));
  const exported: Gauge = new Gauge({
    ...config,
    collect: () => {
      for (const read of readers) read();
      for (const { labels, value } of table.all()) exported.set({ ...labels }, value);
    },
  });
  const set = (labels: Labels, value: number): void => {
    table.of(labels).value = value;
  };
  const move = (labels: Labels, by: number): void => {
    table.of(labels).value += by;
  };
  const readFrom = (labels: Labels, read: () => number): void => {
    readers.push(() => set(labels, read()));
  };
  if (config.labelNames.length > 0) {
    return {
      set,
      inc: (labels: Labels, by = 1) => move(labels, by),
      dec: (labels: Labels, by = 1) => move(labels, -by),
      readFrom,
    };
  }
  return {
    set: (value: number) => set(noLabels, value),
    inc: (by = 1) => move(noLabels, by),
    dec: (by = 1) => move(noLabels, -by),
    readFrom: (read: () => number) => readFrom(noLabels, read),
  };
}

const noLabels: Labels = Object.freeze({});
