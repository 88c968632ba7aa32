import type { Row } from './panel.ts';
import { inPool, quantiles, rate, total } from './query.ts';

/** Demand against capacity. */
export const queue: Row = {
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
    {
      title: 'Fallbacks',
      description:
        'Turns to another model, because that which was asked for had no answer; saturated is what overflows.',
      unit: 'cps',
      queries: [
        {
          expression: `${rate('sluice_fallbacks_total', 'model, fallback, reason')} > 0`,
          legend: '{{model}} to {{fallback}}: {{reason}}',
        },
      ],
    },
  ],
};

/** The workers' side of the queue: what engines generate. */
export const engines: Row = {
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
      title: 'Published bytes, and jobs',
      description:
        'Bytes through Redis, characters kept until ingresses acknowledge them (most take a byte), and the jobs of the ' +
        'worker that holds the most: at a fifth of its heap it takes no more.',
      unit: 'bytes',
      queries: [
        { expression: total('sluice_published_bytes_total'), legend: 'published per second' },
        { expression: 'sum(sluice_kept_frames_characters)', legend: 'kept' },
        { expression: 'max(sluice_job_bytes)', legend: 'jobs of one worker' },
      ],
    },
    {
      title: 'Vendor fields dropped',
      description: 'Fields of one dialect that the backend’s dialect has no word for, per second.',
      unit: 'cps',
      queries: [
        {
          expression: rate('sluice_extensions_dropped_total', 'from, to'),
          legend: '{{from}} to {{to}}',
        },
      ],
    },
    {
      title: 'Media fetched by URL',
      description:
        'Pictures and documents by how it ended, per second; refused are addresses that must not be fetched.',
      unit: 'cps',
      queries: [{ expression: rate('sluice_media_fetches_total', 'outcome'), legend: '{{outcome}}' }],
    },
    {
      title: 'Fetching of media',
      description: 'Time of one picture or document.',
      unit: 's',
      queries: quantiles('sluice_media_fetch_duration_seconds', [0.5, 0.99]),
    },
  ],
};

/** What was lost and mended. */
export const repair: Row = {
  title: 'Repair: all zero while nothing is wrong',
  panels: [
    {
      title: 'Further attempts',
      description: 'Attempts after the first, by what ended the one before.',
      unit: 'cps',
      queries: [{ expression: rate('sluice_attempts_total', 'reason'), legend: '{{reason}}' }],
    },
    {
      title: 'Frames',
      description:
        'Asked for again because they did not come, and dropped on arrival: old-attempt is the fence that keeps a lost ' +
        'worker out. Left out is what clients cause: frames behind one that left (unknown) or that reads ' +
        'slowly (paused).',
      unit: 'cps',
      queries: [
        { expression: total('sluice_resends_total{reason="missing"}'), legend: 'asked for again' },
        {
          expression: rate('sluice_frames_dropped_total{reason!~"unknown|paused"}', 'reason'),
          legend: 'dropped: {{reason}}',
        },
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

/** The jobs as the scrape configurations of deploy/ name them: a cluster's Prometheus knows other processes, too. */
const ofSluice = '{job=~"sluice-ingress|sluice-worker"}';

/** Which processes run, and what they cost the hosts. */
export const processes: Row = {
  title: 'Processes',
  panels: [
    {
      title: 'Processes that answer',
      description: 'Of those that Prometheus knows. Everything else on this page comes from these alone.',
      unit: 'short',
      queries: [{ expression: `sum by (job) (up${ofSluice})`, legend: '{{job}}' }],
    },
    {
      title: 'Versions that run',
      description:
        'Processes of each. More than one for longer than a rolling update is an update that stands still.',
      unit: 'short',
      queries: [{ expression: 'count by (job, version) (sluice_build_info)', legend: '{{job}} {{version}}' }],
    },
    {
      title: 'Processes that restarted',
      description: 'In ten minutes, planned or not. Each end of an ingress cuts the streams that it had.',
      unit: 'short',
      queries: [
        {
          // A pod that replaces another has a new address, whose start time never changes: the second term counts it.
          expression: `sum by (job) (changes(process_start_time_seconds${ofSluice}[10m]) > 0 or (time() - process_start_time_seconds${ofSluice} < bool 600))`,
          legend: '{{job}}',
        },
      ],
    },
    {
      title: 'Redis round trip',
      description: 'Question to answer, once a second. A request pays for it twice before its first token.',
      unit: 's',
      queries: quantiles('sluice_redis_round_trip_seconds', [0.5, 0.99], { by: 'job' }),
    },
    {
      title: 'Redis memory',
      description: 'Of its maxmemory, on the fullest server. Above 70 % new requests are refused with 503.',
      unit: 'percentunit',
      queries: [{ expression: 'max(sluice_redis_memory_ratio)', legend: 'in use' }],
    },
    {
      title: 'CPU',
      description: 'Of one core. An ingress near 100 % needs a second one beside it.',
      unit: 'percentunit',
      queries: [
        {
          expression: `rate(process_cpu_seconds_total${ofSluice}[$__rate_interval])`,
          legend: '{{job}} {{instance}}',
        },
      ],
    },
    {
      title: 'Memory',
      description: 'Resident size.',
      unit: 'bytes',
      queries: [{ expression: `process_resident_memory_bytes${ofSluice}`, legend: '{{job}} {{instance}}' }],
    },
    {
      title: 'Open files',
      description:
        'Of those that the process may open. Each client and each call of a model server is one; without any left, ' +
        'ingresses turn clients away.',
      unit: 'percentunit',
      queries: [
        {
          expression: `process_open_fds${ofSluice} / process_max_fds${ofSluice}`,
          legend: '{{job}} {{instance}}',
        },
      ],
    },
    {
      title: 'Event loop delay, p99',
      description: 'A blocked loop delays every stream of its process.',
      unit: 's',
      queries: [
        { expression: `nodejs_eventloop_lag_p99_seconds${ofSluice}`, legend: '{{job}} {{instance}}' },
      ],
    },
  ],
};
