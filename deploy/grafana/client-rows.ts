import type { Row } from './panel.ts';
import { inPool, quantiles, rate, total } from './query.ts';

/** The numbers to look at first. */
export const overview: Row = {
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
      description:
        'Share of the requests that should have succeeded which failed by our fault or the backend’s, over two minutes.',
      unit: 'percentunit',
      kind: 'number',
      // The threshold of the alert.
      alarm: { from: 0.05 },
      queries: [{ expression: 'sluice:request_failures:ratio2m', legend: 'failures' }],
    },
    {
      title: 'Time to first token, p99',
      description: 'Arrival to the first content event, over five minutes.',
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
      description:
        'Of the fullest pool: busy slots, of those whose engine can generate. At 100 % requests wait.',
      unit: 'percentunit',
      kind: 'number',
      alarm: { from: 1 },
      queries: [
        {
          expression: `max(sluice:slots_in_use:ratio${inPool})`,
          legend: 'in use',
        },
      ],
    },
    {
      title: 'Redis',
      description:
        'up is 1 while every process gets answers from Redis, keys while every ingress finds keys of its secret there: without, all get 401.',
      unit: 'short',
      kind: 'number',
      alarm: { below: 1 },
      queries: [
        { expression: 'min(sluice_redis_up)', legend: 'up' },
        { expression: 'min(sluice_keys_known)', legend: 'keys' },
      ],
    },
  ],
};

/** Who calls, and how it ends. */
export const traffic: Row = {
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
        'cancelled is a client that left, cut one that read nothing any more; saturated and rate-limited were refused before the queue (Refusals says by what) or by a backend (Generations).',
      unit: 'reqps',
      queries: [{ expression: `${rate('sluice_requests_total', 'outcome')} > 0`, legend: '{{outcome}}' }],
    },
    {
      title: 'Refusals',
      description:
        'By what refused. saturation calls for workers, overload, prompts and bodies for ingresses, memory for a larger Redis, redis for one that is away or slow, and for workers nobody is there; the others are limits of a tenant.',
      unit: 'reqps',
      queries: [{ expression: rate('sluice_refusals_total', 'limit'), legend: '{{limit}}' }],
    },
    {
      title: 'In flight',
      description:
        'Requests admitted and not ended, and open connections, those without a request among them.',
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

/** What callers wait for. */
export const latency: Row = {
  title: 'Latency as clients see it',
  panels: [
    {
      title: 'Time to first token',
      description:
        'Arrival to the first content event, which an answer that is not streamed keeps until its end. Compare with the engine’s own: the rest is queue and gateway.',
      unit: 's',
      queries: quantiles('sluice_time_to_first_token_seconds', [0.5, 0.95, 0.99]),
    },
    {
      title: 'Gap between tokens',
      description: 'Gap between content events of one answer.',
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
