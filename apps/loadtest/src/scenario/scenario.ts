import { SluiceError } from '@sluice/canonical';
import { isConnectionHeader, isHeaderName, isHeaderValue } from '@sluice/http';
import { z } from 'zod';
import { longestTimerMs } from '../clock.ts';
import { formatNames } from '../dialects/dialect.ts';
import { mostWords } from '../requests/prompt.ts';
import { meanOf, parseCounts, parseTimes } from './distribution.ts';
import { parseDurationMs } from './duration.ts';
import { naturalDurationMs } from './natural-length.ts';
import { boundsTokens } from './slo.ts';
import { parseTarget } from './target.ts';

const text = z.union([z.string(), z.number()]).transform(String);
const count = z.number().int().positive();
/** A higher rate is a typing mistake, and beyond any client. */
const rate = z.number().nonnegative().max(1_000_000);
const share = z.number().min(0).max(1);
const durationMs = parsed(parseDurationMs);
/** A time that one timer can wait. */
const waitMs = durationMs.refine((ms) => ms <= longestTimerMs, 'at most 596h');
const isSome = (ms: number) => ms > 0;
const aboveZero = 'must be above 0';
const counts = parsed(parseCounts);
const times = parsed(parseTimes).refine((each) => meanOf(each) <= longestTimerMs, 'at most 596h');

const trafficFields = z.strictObject({
  /** Share of requests relative to the other entries. */
  weight: z.number().positive().default(1),
  format: z.enum(formatNames).default('openai'),
  model: z.string().default('paced-t50-n64-g10'),
  /** Share of requests that ask for a stream; the rest ask for a single body. */
  streamShare: share.default(1),
  prompt: z
    .strictObject({
      /** `{text}` stands for generated words or a line of `file`; also `{tokens}`, `{seed}` and `{index}`. */
      template: z.string().default('{text}'),
      /** Words to generate, about one token each. */
      tokens: counts
        .refine((words) => meanOf(words) <= mostWords, `at most ${mostWords} words`)
        .default({ kind: 'fixed', value: 32 }),
      /** One prompt per line; lines are used in turn. Absent: words are generated. */
      file: z.string().optional(),
      /** `{seed}` is a number below this. Few seeds repeat questions. */
      seeds: count.default(2 ** 31),
    })
    .prefault({}),
  /** The limit that requests ask for, `{tokens}` in templates. Absent: none is sent. */
  outputTokens: counts.optional(),
  /** Further fields of every body, laid over the format's own, also within objects. */
  body: z.record(z.string(), z.json()).default({}),
  /** Clients that leave in the middle: their share, and when (whichever comes first). */
  abort: z
    .strictObject({ share, afterTokens: counts.optional(), afterMs: times.optional() })
    .refine((abort) => abort.afterTokens ?? abort.afterMs, 'needs afterTokens or afterMs')
    .optional(),
  /** Clients that read slowly: their share and pace. */
  slow: z.strictObject({ share, bytesPerSecond: z.number().positive().default(1000) }).optional(),
});
// A single body comes as a whole: there is no instant at which some of its tokens are there.
const traffic = trafficFields.refine(
  ({ streamShare, abort }) => streamShare > 0 || !abort?.share || abort.afterMs,
  { path: ['abort'], message: 'a single body is left by afterMs alone' },
);

const open = z.strictObject({
  kind: z.literal('open'),
  spacing: z.enum(['poisson', 'constant']).default('poisson'),
  profile: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('constant'), rate: rate.positive() }),
    z.strictObject({
      kind: z.literal('ramp'),
      from: rate,
      to: rate,
      overMs: durationMs.refine(isSome, aboveZero),
    }),
    z.strictObject({
      kind: z.literal('steps'),
      steps: z.array(z.strictObject({ rate, forMs: durationMs })).min(1),
    }),
  ]),
});
const trace = z.strictObject({
  kind: z.literal('trace'),
  file: z.string(),
  speed: z.number().positive().default(1),
});
const closed = z.strictObject({
  kind: z.literal('closed'),
  users: count.max(1_000_000),
  /** Pause between an answer and the same user's next request. */
  thinkMs: times.default({ kind: 'fixed', value: 0 }),
  /** Intended time between a user's requests; latency then counts from the intended instant. */
  paceMs: waitMs.refine(isSome, aboveZero).optional(),
  /** Time over which users without a pace start, evenly; 0 is a burst. */
  rampUpMs: waitMs.default(200),
});

const fields = z.strictObject({
  /** Title in reports. Absent: the load in words. */
  name: z.string().optional(),
  /** Base address of the server, or the place of one format's requests; a query is sent with every request. */
  target: parsed((address) => {
    parseTarget(address);
    return address;
  }).default('http://127.0.0.1:8080'),
  seed: z.number().int().default(1),
  load: z
    .discriminatedUnion('kind', [open, trace, closed])
    .prefault({ kind: 'open', profile: { kind: 'constant', rate: 10 } }),
  /** Absent: the sum of steps, the time of a ramp, the length of a trace, else 30 s. */
  durationMs: durationMs.optional(),
  /** Start of the run that is not measured. */
  warmupMs: waitMs.default(0),
  /** How long unfinished requests may go on after the last arrival. */
  graceMs: waitMs.default(30_000),
  timeoutMs: waitMs.refine(isSome, aboveZero).default(120_000),
  /** Stop after this many arrivals; absent: only time ends the run. */
  requests: count.optional(),
  /** Connections per process. */
  maxConnections: count.default(20_000),
  /** Requests of a process that may be under way or wait for a connection; more end the load. */
  maxInFlight: count.default(250_000),
  processes: count.max(256).default(1),
  traffic: z.array(traffic).min(1).prefault([{}]),
  /** Further headers of every request, which override those of the formats; results show their names alone. */
  headers: z.record(z.string(), text).transform(checkedHeaders).default({}),
  keys: z
    .strictObject({
      values: z.array(text).default([]),
      /** One key per line. */
      file: z.string().optional(),
      /** `skewed`: few keys make most requests (Zipf, exponent 1). */
      pick: z.enum(['in-turn', 'random', 'skewed']).default('in-turn'),
    })
    .prefault({}),
  slo: z
    .strictObject({
      ttftMs: durationMs.optional(),
      tpotMs: durationMs.optional(),
      endToEndMs: durationMs.optional(),
      attainment: share.default(0.99),
    })
    .prefault({}),
  /** `tokens`: numbered words of the fake upstream; `repeat`: equal questions, equal answers. */
  verify: z.enum(['none', 'tokens', 'repeat']).default('none'),
  /** A file with the exact text of every answer. Absent: no such check. */
  expectText: z.string().optional(),
  search: z
    .strictObject({
      /** First rate tried. */
      fromRate: rate.positive().default(10),
      maxRate: rate.positive().default(100_000),
      /** The search ends when bounds are this close, as a share of the rate. */
      precision: z.number().min(0.001).max(0.5).default(0.05),
      /** Loads past the found rate, as multiples of it. */
      beyond: z
        .array(z.number().gt(1, 'a load past the found rate is a multiple above 1'))
        .default([1.25, 1.5, 2]),
      /** Pause between two loads, so that queues empty. */
      settleMs: waitMs.default(1000),
    })
    .prefault({}),
});

const scenarioSchema = fields
  .transform((given) => ({ ...given, durationMs: given.durationMs ?? naturalDurationMs(given.load) }))
  .refine(({ warmupMs, durationMs }) => warmupMs < durationMs, {
    path: ['durationMs'],
    message: 'leaves no time to measure after the warm-up',
  })
  .refine(({ slo, traffic }) => !boundsTokens(slo) || traffic.some(({ streamShare }) => streamShare > 0), {
    path: ['slo'],
    message: 'bounds the tokens of streams, and every answer is a single body: bound endToEndMs (e2e)',
  })
  // Over TLS, everything that one read brought is delivered decrypted, wanted or not: most answers are whole by then.
  .refine(({ target, traffic }) => !/^https:/i.test(target) || traffic.every(({ slow }) => !slow?.share), {
    path: ['target'],
    message: 'https is read ahead, and has no slow readers: give them an http address of the server',
  })
  .superRefine(({ target, traffic }, context) => {
    const { endpoint } = parseTarget(target);
    const other = traffic.find(({ format }) => endpoint && format !== endpoint.format);
    if (!endpoint || !other) return;
    const message = `${endpoint.path} is the place of ${endpoint.format} alone, and ${other.format} is asked for`;
    context.addIssue({ code: 'custom', path: ['target'], message });
  });

/** A whole load test, with defaults applied. */
export type Scenario = z.output<typeof scenarioSchema>;
/** A load test as a file or flags describe it: all fields may be left out. */
export type ScenarioInput = z.input<typeof scenarioSchema>;
export type Traffic = Scenario['traffic'][number];
export type Load = z.output<typeof fields>['load'];

/** Applies defaults. Throws `invalid-request` with everything that is wrong. */
export function parseScenario(input: unknown): Scenario {
  const result = scenarioSchema.safeParse(input);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    (issue) => `${issue.path.join('.') || 'scenario'}: ${issue.message}`,
  );
  throw new SluiceError('invalid-request', `the scenario is wrong:\n  ${problems.join('\n  ')}`);
}

/** Checks headers and puts their names in lower case. Complaints leave out values, which may be credentials. */
function checkedHeaders(headers: Record<string, string>, context: z.RefinementCtx): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of entries) {
    if (isHeaderName(name) && !isConnectionHeader(name) && isHeaderValue(value)) continue;
    const message = isHeaderName(name) ? `${name} may not be set so` : 'not the name of a header';
    context.addIssue({ code: 'custom', message });
  }
  return Object.fromEntries(entries);
}

/** Schema for text or a number that is read by `parse`; what `parse` throws becomes the field's complaint. */
function parsed<T>(parse: (text: string) => T) {
  return text.transform((value, context): T => {
    try {
      return parse(value);
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: error instanceof Error ? error.message : 'not understood',
      });
      return z.NEVER;
    }
  });
}
