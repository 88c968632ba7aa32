import { collectDefaultMetrics, Registry } from 'prom-client';
import { createCounter, createGauge } from './counted-metrics.ts';
import { DurationHistogram, type DurationSeries } from './duration-histogram.ts';

/** The values of a label: a closed list, or a description of where they come from. */
export type LabelSource = readonly string[] | { readonly from: string };
/** The labels of a metric, by name. */
export type LabelSources = Readonly<Record<string, LabelSource>>;

/** The definition of one metric. Only durations have `bucketsMs`. */
export interface MetricDefinition<Kind extends MetricKind, Sources extends LabelSources> {
  kind: Kind;
  name: string;
  help: string;
  labels: Sources;
  bucketsMs?: readonly number[];
}
/** What a metric measures. */
export type MetricKind = 'counter' | 'gauge' | 'duration';
/** The metrics of one process, by the names that its code uses. */
export type MetricDefinitions = Readonly<Record<string, MetricDefinition<MetricKind, LabelSources>>>;

type LabelsOf<Sources extends LabelSources> = {
  [Name in keyof Sources]: Sources[Name] extends readonly (infer Value)[] ? Value : string;
};
/** The argument for labels, which metrics without labels do not take. */
type Labelled<Sources extends LabelSources> = keyof Sources extends never ? [] : [labels: LabelsOf<Sources>];

/** A counter with these labels. */
export interface CounterOf<Sources extends LabelSources> {
  /** Adds 1, or `by`. */
  inc(...args: [...Labelled<Sources>, by?: number]): void;
}
/** A gauge with these labels. */
export interface GaugeOf<Sources extends LabelSources> {
  set(...args: [...Labelled<Sources>, value: number]): void;
  inc(...args: [...Labelled<Sources>, by?: number]): void;
  dec(...args: [...Labelled<Sources>, by?: number]): void;
  /** Reads the value from `read` at every scrape, instead of by `set`. */
  readFrom(...args: [...Labelled<Sources>, read: () => number]): void;
}
/** A histogram of durations with these labels. */
export interface DurationsOf<Sources extends LabelSources> {
  /** Counts one duration in milliseconds; it is exported in seconds. */
  observe(...args: [...Labelled<Sources>, durationMs: number]): void;
  /** The series of these labels, for a caller that observes more than once. */
  child(...args: Labelled<Sources>): DurationSeries;
}

type Instrument<Definition> =
  Definition extends MetricDefinition<'counter', infer Sources>
    ? CounterOf<Sources>
    : Definition extends MetricDefinition<'gauge', infer Sources>
      ? GaugeOf<Sources>
      : Definition extends MetricDefinition<'duration', infer Sources>
        ? DurationsOf<Sources>
        : never;

/** The instruments of these definitions, and the registry that renders them. */
export type MetricSet<Definitions extends MetricDefinitions> = {
  readonly [Name in keyof Definitions]: Instrument<Definitions[Name]>;
} & { readonly registry: Registry };

/** Defines a counter; its name ends in `_total`. */
export function counter<const Sources extends LabelSources>(name: string, help: string, labels: Sources) {
  return { kind: 'counter', name, help, labels } satisfies MetricDefinition<'counter', Sources>;
}

/** Defines a gauge. */
export function gauge<const Sources extends LabelSources>(name: string, help: string, labels: Sources) {
  return { kind: 'gauge', name, help, labels } satisfies MetricDefinition<'gauge', Sources>;
}

/** Defines a histogram of durations; its name ends in `_seconds`. */
export function durations<const Sources extends LabelSources>(
  name: string,
  help: string,
  labels: Sources,
  bucketsMs: readonly number[],
) {
  return { kind: 'duration', name, help, labels, bucketsMs } satisfies MetricDefinition<'duration', Sources>;
}

/** A registry with the process's own metrics (CPU, memory, event loop, garbage collection) under their usual names. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * Creates one instrument per definition. Counters whose labels are closed lists start at 0, so that rates see the first
 * event.
 */
export function createMetricSet<Definitions extends MetricDefinitions>(
  definitions: Definitions,
  registry: Registry,
): MetricSet<Definitions> {
  const instruments = Object.entries(definitions).map(([name, definition]) => [
    name,
    create(definition, registry),
  ]);
  // Each name has the instrument of its definition's kind, whose methods have the shapes of our types.
  return { ...Object.fromEntries(instruments), registry } as MetricSet<Definitions>;
}

function create(definition: MetricDefinition<MetricKind, LabelSources>, registry: Registry): unknown {
  const { kind, name, help, labels, bucketsMs = [] } = definition;
  const labelNames = Object.keys(labels);
  const config = { name, help, labelNames, registers: [registry] };
  switch (kind) {
    case 'counter':
      return createCounter(config, closedCombinations(labels));
    case 'gauge':
      return createGauge(config);
    case 'duration': {
      const histogram = new DurationHistogram({ name, help, labelNames, bucketsMs }, registry);
      return createDurations(histogram, labelNames.length > 0);
    }
  }
}

function createDurations(histogram: DurationHistogram, isLabelled: boolean): unknown {
  const child = (labels: Record<string, string> = {}) => histogram.child(labels);
  if (!isLabelled) return { child, observe: (durationMs: number) => child().observe(durationMs) };
  return {
    child,
    observe: (labels: Record<string, string>, durationMs: number) => child(labels).observe(durationMs),
  };
}

/** Starts the series of a counter at 0 whose label values are known only when the process starts. */
export function beginAtZero<Labels extends Record<string, string>>(
  counted: { inc(labels: Labels, by: number): void },
  values: { readonly [Name in keyof Labels]: Iterable<Labels[Name]> },
): void {
  // Each combination has a value for every label.
  for (const labels of combinationsOf(values)) counted.inc(labels as Labels, 0);
}

/** Every combination of values of labels that are all closed lists; none if one of them is open. */
function closedCombinations(labels: LabelSources): Record<string, string>[] {
  const closed = Object.entries(labels).filter(([, source]) => Array.isArray(source));
  if (closed.length < Object.keys(labels).length) return [];
  // All sources are lists here.
  return combinationsOf(Object.fromEntries(closed) as Record<string, readonly string[]>);
}

function combinationsOf(values: Readonly<Record<string, Iterable<string>>>): Record<string, string>[] {
  return Object.entries(values).reduce<Record<string, string>[]>(
    (combinations, [name, source]) =>
      combinations.flatMap((combination) => [...source].map((value) => ({ ...combination, [name]: value }))),
    [{}],
  );
}

/** Metrics as text, with the content type of their format. */
export interface RenderedMetrics {
  contentType: string;
  body: string;
}

/** Renders the text that a Prometheus server scrapes. */
export async function renderMetrics(registry: Registry): Promise<RenderedMetrics> {
  return { contentType: registry.contentType, body: await registry.metrics() };
}
