import type { Registry } from 'prom-client';
import {
  attemptReasons,
  droppedFrameReasons,
  fallbackReasons,
  format,
  limit,
  mediaFetchOutcomes,
  model,
  outcomes,
  pool,
  resendReasons,
  version,
} from './labels.ts';
import {
  counter,
  createMetricSet,
  createRegistry,
  durations,
  gauge,
  type LabelSource,
  type MetricDefinitions,
  type MetricSet,
} from './metric-set.ts';

// The bounds of OpenTelemetry's gen_ai conventions, extended to the range of queues and of slow or fast models. Where
// most answers lie, further bounds are put between them: a percentile is interpolated between the two bounds around it,
// and those of the conventions double from one to the next.
const firstTokenMs = [
  1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 350, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_500, 5_000,
  7_500, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];
/** These are searched for every token, so there are no more than in the conventions. */
const perTokenMs = [
  1, 2, 5, 10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
];
const meanPerTokenMs = [...perTokenMs, 7.5, 12.5, 15, 20, 30, 40].sort((one, other) => one - other);
const requestMs = [
  10, 20, 40, 80, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120, 7_680, 10_240, 15_360,
  20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 327_680, 655_360,
];
const roundTripMs = [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500];
const queueWaitMs = [
  1, 2, 5, 10, 25, 50, 100, 150, 200, 250, 350, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_500, 5_000, 7_500,
  10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

const redisRoundTrip = durations(
  'sluice_redis_round_trip_seconds',
  'Round trip of a command to Redis, measured once a second',
  {},
  roundTripMs,
);

const ingressDefinitions = {
  buildInfo: gauge('sluice_build_info', '1, with the version as label', { version }),
  requests: counter(
    'sluice_requests_total',
    'Requests that ended, without probes (/livez, /readyz, and those of coding CLIs)',
    {
      format,
      outcome: outcomes,
    },
  ),
  requestDuration: durations(
    'sluice_request_duration_seconds',
    'Arrival to the last byte handed to the socket',
    { format, outcome: outcomes },
    requestMs,
  ),
  timeToFirstToken: durations(
    'sluice_time_to_first_token_seconds',
    'Arrival to the first content event: written, or kept for an answer that is not streamed',
    { format, model },
    firstTokenMs,
  ),
  interTokenLatency: durations(
    'sluice_inter_token_latency_seconds',
    'Gap between content events of one answer, streamed or not',
    { format },
    perTokenMs,
  ),
  timePerOutputToken: durations(
    'sluice_time_per_output_token_seconds',
    'Mean time per output token after the first, one observation per request',
    { format },
    meanPerTokenMs,
  ),
  queueWait: durations(
    'sluice_queue_wait_seconds',
    'From entering the queue to the claim by a worker',
    { pool },
    queueWaitMs,
  ),
  queueDepth: gauge('sluice_queue_depth', 'Jobs that wait, as this ingress last saw it', { pool }),
  poolSlots: gauge('sluice_pool_slots', 'Slots that live workers announced, as this ingress last saw it', {
    pool,
  }),
  requestsInFlight: gauge('sluice_requests_in_flight', 'Requests admitted and not ended', { format }),
  tokens: counter(
    'sluice_tokens_total',
    'Tokens charged: those reported, or else the estimate of the prompt and the tokens delivered',
    { model, direction: ['input', 'output'] },
  ),
  refusals: counter('sluice_refusals_total', 'Requests refused before the queue, by what refused', {
    limit,
  }),
  resends: counter('sluice_resends_total', 'Times that frames were asked for again', {
    reason: resendReasons,
  }),
  attempts: counter('sluice_attempts_total', 'Attempts after the first, by what ended the one before', {
    reason: attemptReasons,
  }),
  fallbacks: counter(
    'sluice_fallbacks_total',
    'Turns from the model that was asked for to a fallback of it, by why the one before gave no answer',
    { model, fallback: model, reason: fallbackReasons },
  ),
  framesDropped: counter('sluice_frames_dropped_total', 'Frames that arrived and were not delivered', {
    reason: droppedFrameReasons,
  }),
  slowReaders: counter(
    'sluice_slow_readers_total',
    'Clients that were dropped because they read too slowly',
    {},
  ),
  openConnections: gauge('sluice_open_connections', 'Open client connections', {}),
  redisUp: gauge(
    'sluice_redis_up',
    '1 while Redis takes commands, those that write, too, and its messages would reach the process; 1 as well where its ' +
      'memory is full, which sluice_refusals_total shows',
    {},
  ),
  redisMemory: gauge(
    'sluice_redis_memory_ratio',
    'Share of its maxmemory that the fullest Redis server uses, as this ingress last saw it; 0 without a maxmemory',
    {},
  ),
  redisRoundTrip,
  keysKnown: gauge(
    'sluice_keys_known',
    '1 while the newest keys in Redis are of this SLUICE_KEY_SECRET, as this ingress last saw it; else requests ' +
      'with them get 401',
    {},
  ),
} as const satisfies MetricDefinitions;

const workerDefinitions = {
  buildInfo: gauge('sluice_build_info', '1, with the version as label', { version }),
  slots: gauge('sluice_slots', 'Generations that may run at once', { pool }),
  slotsBusy: gauge('sluice_slots_busy', 'Generations that run', { pool }),
  generations: counter('sluice_generations_total', 'Generations that ended', { pool, outcome: outcomes }),
  generationDuration: durations(
    'sluice_generation_duration_seconds',
    'Pickup to the terminal event',
    { pool },
    requestMs,
  ),
  engineTimeToFirstToken: durations(
    'sluice_engine_time_to_first_token_seconds',
    'Call of the engine to its first content event',
    { pool },
    firstTokenMs,
  ),
  mediaFetches: counter(
    'sluice_media_fetches_total',
    'Pictures and documents fetched by URL, by how it ended',
    {
      outcome: mediaFetchOutcomes,
    },
  ),
  mediaFetchDuration: durations(
    'sluice_media_fetch_duration_seconds',
    'Fetch of one picture or document, with its redirects and without the wait for its turn',
    {},
    requestMs,
  ),
  publishedBatches: counter('sluice_published_batches_total', 'Frame batches published', {}),
  publishedFrames: counter('sluice_published_frames_total', 'Frames published', {}),
  publishedBytes: counter('sluice_published_bytes_total', 'Bytes of the messages published', {}),
  keptFrameCharacters: gauge(
    'sluice_kept_frames_characters',
    'Characters of frames kept until they are acknowledged; each takes a byte, or two in a frame with any past Latin 1',
    {},
  ),
  jobBytes: gauge(
    'sluice_job_bytes',
    'Bytes of the jobs that run and of the files fetched for them, of which a worker takes only so much',
    {},
  ),
  extensionsDropped: counter(
    'sluice_extensions_dropped_total',
    'Vendor fields dropped because the dialect of the backend cannot express them',
    { from: format, to: format },
  ),
  workerRestarts: counter(
    'sluice_worker_restarts_total',
    'Worker processes started again after an unplanned end',
    {},
  ),
  abandoned: counter(
    'sluice_abandoned_total',
    'Generations whose ingress was gone before it had all of them; what still ran was stopped, and what waited not begun',
    {},
  ),
  engineUp: gauge('sluice_engine_up', '1 while the engine can generate', { pool }),
  redisUp: gauge(
    'sluice_redis_up',
    '1 while Redis takes commands, those that write, too, and its messages would reach the process',
    {},
  ),
  redisRoundTrip,
} as const satisfies MetricDefinitions;

/** The instruments of an ingress. */
export type IngressMetrics = MetricSet<typeof ingressDefinitions>;
/** The instruments of a worker. */
export type WorkerMetrics = MetricSet<typeof workerDefinitions>;

/** Creates the metrics of an ingress. The default registry is a new one that also has the metrics of the process. */
export function createIngressMetrics(registry: Registry = createRegistry()): IngressMetrics {
  return createMetricSet(ingressDefinitions, registry);
}

/** Creates the metrics of a worker. The default registry is a new one that also has the metrics of the process. */
export function createWorkerMetrics(registry: Registry = createRegistry()): WorkerMetrics {
  return createMetricSet(workerDefinitions, registry);
}

/** A row of the metrics table. */
export interface MetricDescription {
  process: 'ingress' | 'worker' | 'both';
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  labels: { name: string; values: string }[];
  help: string;
}

/** Every metric of ours, those of the ingress first, in order of definition; metrics of both processes appear once. */
export function describeMetrics(): MetricDescription[] {
  const ingressNames = new Set<string>(Object.values(ingressDefinitions).map(({ name }) => name));
  const workerNames = new Set<string>(Object.values(workerDefinitions).map(({ name }) => name));
  const definitions: MetricDefinitions[string][] = [
    ...Object.values(ingressDefinitions),
    ...Object.values(workerDefinitions).filter(({ name }) => !ingressNames.has(name)),
  ];
  return definitions.map(({ kind, name, help, labels }) => ({
    process: !ingressNames.has(name) ? 'worker' : workerNames.has(name) ? 'both' : 'ingress',
    name,
    type: kind === 'duration' ? 'histogram' : kind,
    labels: Object.entries(labels).map(([label, source]) => ({
      name: label,
      values: describeSource(source),
    })),
    help,
  }));
}

function describeSource(source: LabelSource): string {
  return 'from' in source ? source.from : source.join(', ');
}
