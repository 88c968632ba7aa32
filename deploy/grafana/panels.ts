/** One line or number: what is asked, and what it is called. */
export interface Query {
  /** PromQL. `$__rate_interval` is Grafana's; `$pool` is the dashboard's pattern of pools. */
  readonly expression: string;
  readonly legend: string;
}

export type Unit = 'short' | 's' | 'reqps' | 'cps' | 'bytes' | 'Bps' | 'percentunit';

export interface Panel {
  readonly title: string;
  /** What it means and what to do with it. */
  readonly description: string;
  readonly unit: Unit;
  /** Default: a graph over time. */
  readonly kind?: 'number';
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const rate = (series: string, by: string) => `sum by (${by}) (rate(${series}[$__rate_interval]))`;
const total = (series: string) => `sum(rate(${series}[$__rate_interval]))`;
/** A counter that exists only after its first event reads as zero before it. */
const orZero = (expression: string) => `${expression} or vector(0)`;

function quantiles(
  name: string,
  shares: readonly number[],
  { by, selector = '' }: { by?: string; selector?: string } = {},
) {
  const groups = by === undefined ? 'le' : `${by}, le`;
  return shares.map((share): Query => {
    const buckets = `sum by (${groups}) (rate(${name}_bucket${selector}[$__rate_interval]))`;
    const percentile = `p${share * 100}`;
    return {
      expression: `histogram_quantile(${share}, ${buckets})`,
      legend: by === undefined ? percentile : `${percentile} {{${by}}}`,
    };
  });
}

const inPool = '{pool=~"$pool"}';

const overview: Row = {
  title: 'Now',
  panels: [
    {
      title: 'Requests',
      description: 'Requests that ended, in any way.',
      unit: 'reqps',
      kind: 'number',
      queries: [{ expression: total('sluice_requests_total'), legend: 'requests' }],
    },
    {
      title: 'Failures',
      description: 'Share of requests that failed by our fault or the backend’s over five minutes.',
      unit: 'percentunit',
      kind: 'number',
      queries: [{ expression: 'sluice:request_failures:ratio5m', legend: 'failures' }],
    },
    {
      title: 'Time to first token, p99',
      description: 'Arrival to the first content event written, over five minutes.',
      unit: 's',
      kind: 'number',
      queries: [{ expression: 'sluice:time_to_first_token_seconds:p99_5m', legend: 'p99' }],
    },
    {
      title: 'Output tokens',
      description: 'Tokens settled per second.',
      unit: 'cps',
      kind: 'number',
      queries: [{ expression: total('sluice_tokens_total{direction="output"}'), legend: 'tokens' }],
    },
    {
      title: 'Slots in use',
      description: 'Busy slots of all. At 100 % requests wait.',
      unit: 'percentunit',
      kind: 'number',
      queries: [
        { expression: `sum(sluice_slots_busy${inPool}) / sum(sluice_slots${inPool})`, legend: 'in use' },
      ],
    },
    {
      title: 'Redis',
      description: '1 while every process gets answers from Redis.',
      unit: 'short',
      kind: 'number',
      queries: [{ expression: 'min(sluice_redis_up)', legend: 'up' }],
    },
  ],
};

const traffic: Row = {
  title: 'Traffic',
  panels: [
    {
      title: 'Requests by format',
      description: 'Which SDKs call.',
      unit: 'reqps',
      queries: [{ expression: rate('sluice_requests_total', 'format'), legend: '{{format}}' }],
    },
    {
      title: 'Requests by outcome',
      description:
        'cancelled is a client that left; saturated and rate-limited were refused before the queue.',
      unit: 'reqps',
      queries: [{ expression: `${rate('sluice_requests_total', 'outcome')} > 0`, legend: '{{outcome}}' }],
    },
    {
      title: 'Refusals',
      description: 'By the limit that refused. saturation calls for workers, the others are a tenant’s own.',
      unit: 'reqps',
      queries: [{ expression: orZero(rate('sluice_refusals_total', 'limit')), legend: '{{limit}}' }],
    },
    {
      title: 'In flight',
      description: 'Requests admitted and not ended, and connections that are open for them.',
      unit: 'short',
      queries: [
        { expression: 'sum by (format) (sluice_requests_in_flight)', legend: '{{format}}' },
        { expression: 'sum(sluice_open_connections)', legend: 'connections' },
      ],
    },
    {
      title: 'Tokens',
      description: 'Tokens settled per second, by direction.',
      unit: 'cps',
      queries: [{ expression: rate('sluice_tokens_total', 'direction'), legend: '{{direction}}' }],
    },
  ],
};

const latency: Row = {
  title: 'Latency as clients see it',
  panels: [
    {
      title: 'Time to first token',
      description:
        'Arrival to the first content event written. Compare with the engine’s own: the rest is queue and gateway.',
      unit: 's',
      queries: quantiles('sluice_time_to_first_token_seconds', [0.5, 0.95, 0.99]),
    },
    {
      title: 'Gap between tokens',
      description: 'Gap between content events of one stream.',
      unit: 's',
      queries: quantiles('sluice_inter_token_latency_seconds', [0.5, 0.95, 0.99]),
    },
    {
      title: 'Time per output token',
      description: 'Mean after the first token, one observation per request.',
      unit: 's',
      queries: quantiles('sluice_time_per_output_token_seconds', [0.5, 0.99]),
    },
    {
      title: 'Whole request',
      description: 'Arrival to the last byte.',
      unit: 's',
      queries: quantiles('sluice_request_duration_seconds', [0.5, 0.99], { by: 'format' }),
    },
  ],
};

const queue: Row = {
  title: 'Queue and slots',
  panels: [
    {
      title: 'Waiting jobs',
      description: 'As the ingresses last saw it.',
      unit: 'short',
      queries: [{ expression: `sluice:queue_depth:max${inPool}`, legend: '{{pool}}' }],
    },
    {
      title: 'Queue wait',
      description: 'Enqueued to picked up. Near the wait budget of a pool, callers are refused.',
      unit: 's',
      queries: quantiles('sluice_queue_wait_seconds', [0.5, 0.95], { by: 'pool', selector: inPool }),
    },
    {
      title: 'Slots',
      description: 'What live workers announced, and what runs.',
      unit: 'short',
      queries: [
        { expression: `sluice:pool_slots:max${inPool}`, legend: '{{pool}} slots' },
        { expression: `sluice:slots_busy:sum${inPool}`, legend: '{{pool}} busy' },
      ],
    },
    {
      title: 'Waiting per slot',
      description: 'The measure for adding workers.',
      unit: 'short',
      queries: [{ expression: `sluice:queue_depth_per_slot${inPool}`, legend: '{{pool}}' }],
    },
  ],
};

const engines: Row = {
  title: 'Workers and engines',
  panels: [
    {
      title: 'Generations',
      description: 'Runs of a model that ended, by outcome.',
      unit: 'cps',
      queries: [
        {
          expression: `${rate(`sluice_generations_total${inPool}`, 'pool, outcome')} > 0`,
          legend: '{{pool}} {{outcome}}',
        },
      ],
    },
    {
      title: 'Engine: time to first token',
      description: 'Engine called to its first content event.',
      unit: 's',
      queries: quantiles('sluice_engine_time_to_first_token_seconds', [0.5, 0.99], {
        by: 'pool',
        selector: inPool,
      }),
    },
    {
      title: 'Generation',
      description: 'Pickup to the terminal event.',
      unit: 's',
      queries: quantiles('sluice_generation_duration_seconds', [0.5, 0.99], { by: 'pool', selector: inPool }),
    },
    {
      title: 'Engines up',
      description: 'Share of engines that can generate now.',
      unit: 'percentunit',
      queries: [{ expression: `avg by (pool) (sluice_engine_up${inPool})`, legend: '{{pool}}' }],
    },
    {
      title: 'Published',
      description:
        'Frames and the batches that carry them; the more frames in a batch, the less a token costs.',
      unit: 'cps',
      queries: [
        { expression: total('sluice_published_frames_total'), legend: 'frames' },
        { expression: total('sluice_published_batches_total'), legend: 'batches' },
      ],
    },
    {
      title: 'Published bytes',
      description: 'Bytes through Redis, and bytes kept until ingresses acknowledge them.',
      unit: 'bytes',
      queries: [
        { expression: total('sluice_published_bytes_total'), legend: 'published per second' },
        { expression: 'sum(sluice_kept_frames_bytes)', legend: 'kept' },
      ],
    },
    {
      title: 'Vendor fields dropped',
      description: 'Fields of one dialect that the backend’s dialect has no word for, per second.',
      unit: 'cps',
      queries: [
        {
          expression: orZero(rate('sluice_extensions_dropped_total', 'from, to')),
          legend: '{{from}} to {{to}}',
        },
      ],
    },
  ],
};

const repair: Row = {
  title: 'Repair: all of it should be zero in peace',
  panels: [
    {
      title: 'Further attempts',
      description: 'Attempts after the first, by what ended the one before.',
      unit: 'cps',
      queries: [{ expression: orZero(rate('sluice_attempts_total', 'reason')), legend: '{{reason}}' }],
    },
    {
      title: 'Frames',
      description:
        'Asked for again, and dropped on arrival: old-attempt is the fence that keeps a lost worker out.',
      unit: 'cps',
      queries: [
        { expression: total('sluice_resends_total'), legend: 'asked for again' },
        { expression: orZero(rate('sluice_frames_dropped_total', 'reason')), legend: 'dropped: {{reason}}' },
      ],
    },
    {
      title: 'Clients and generations given up',
      description: 'Clients that read too slowly, generations that nobody listened to.',
      unit: 'cps',
      queries: [
        { expression: total('sluice_slow_readers_total'), legend: 'slow readers' },
        { expression: total('sluice_abandoned_total'), legend: 'abandoned' },
      ],
    },
    {
      title: 'Worker processes restarted',
      description: 'Unplanned ends in ten minutes.',
      unit: 'short',
      queries: [{ expression: 'sum(increase(sluice_worker_restarts_total[10m]))', legend: 'restarts' }],
    },
  ],
};

const processes: Row = {
  title: 'Processes',
  panels: [
    {
      title: 'CPU',
      description: 'Of one core. An ingress near 100 % needs a second one beside it.',
      unit: 'percentunit',
      queries: [
        { expression: 'rate(process_cpu_seconds_total[$__rate_interval])', legend: '{{job}} {{instance}}' },
      ],
    },
    {
      title: 'Memory',
      description: 'Resident size.',
      unit: 'bytes',
      queries: [{ expression: 'process_resident_memory_bytes', legend: '{{job}} {{instance}}' }],
    },
    {
      title: 'Event loop delay, p99',
      description: 'A blocked loop delays every stream of its process.',
      unit: 's',
      queries: [{ expression: 'nodejs_eventloop_lag_p99_seconds', legend: '{{job}} {{instance}}' }],
    },
  ],
};

/** The dashboard, from top to bottom. */
export const rows: readonly Row[] = [overview, traffic, latency, queue, engines, repair, processes];
