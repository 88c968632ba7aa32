import { referenceToken } from '@sluice/engines';
import { readAnswer } from '../clients/answer-reader.ts';
import type { FaultRecord, HeapSample, Observation, RunLog } from '../observation.ts';
import { canaryPrompt, type RequestPlan, tenantName } from '../plan.ts';
import type { ViolationKind } from './violation.ts';

/** A defect that the gateway could have, by its effect on the log of a run. */
export interface SeededBug {
  name: string;
  /** What the checker must say about it. */
  caughtAs: ViolationKind;
  doctor(log: RunLog): void;
}

const deadlineMs = 30_000;
const inputTokens = 10;
const tokens = 60;

/** The log of a small run in which everything went well, with the death of one worker in the middle. */
export function createSoundLog(): RunLog {
  const observations = Array.from({ length: 9 }, (_, index) => observe(planOf(index)));
  const spent = (inputTokens + tokens) * 3;
  return {
    deadlineMs,
    observations,
    faults: [fault('worker killed', 'worker 0')],
    upstreamRuns: observations
      .filter(({ plan }) => plan.model === 'up')
      .map(({ plan }) => ({ index: plan.index, startedAt: 1_100, closedAt: 2_000, wasAborted: false })),
    lines: observations.map((observation) => ({ process: 'ingress 0', text: logLine(observation, 1) })),
    counters: {},
    leftovers: { gauges: { 'ingress 0 sluice_requests_in_flight': 0 }, redis: {}, keysWithoutExpiry: [] },
    budgets: [0, 1, 2].map((index) => ({
      at: 60_000,
      tenant: tenantName(index),
      spent,
      reserved: 0,
      limit: 10_000,
    })),
    lostCharges: [],
    heaps: { before: [heapOf(20_000_000)], after: [heapOf(21_000_000)] },
    canaries: [{ what: 'a prompt', text: canaryPrompt }],
    haystacks: [{ where: 'Redis', text: 'sluice:{tenancy}:tenants ["tenant-0"]' }],
  };
}

/** The twelve bugs that the checker must catch, in the order of the design, and seven against other invariants. */
export const seededBugs: readonly SeededBug[] = [
  {
    name: 'no fence: an older attempt goes on beside the new one',
    caughtAs: 'duplicated',
    doctor: (log) => retell(log, 0, [...range(0, 30), ...range(10, 20), ...range(30, tokens)]),
  },
  {
    name: 'no sequence check: a frame that came twice is shown twice',
    caughtAs: 'duplicated',
    doctor: (log) => retell(log, 1, [...range(0, 12), ...range(8, tokens)]),
  },
  {
    name: 'no resend after a reconnect: what came meanwhile is missing',
    caughtAs: 'gap',
    doctor: (log) => retell(log, 2, [...range(0, 20), ...range(26, tokens)]),
  },
  {
    name: 'the lease of a client that left is never given back',
    caughtAs: 'leaked',
    doctor: (log) => {
      log.leftovers.redis['sluice:{p:sim}:open'] = 1;
    },
  },
  {
    name: 'what belongs to a request is kept for ever in memory',
    caughtAs: 'heap-grown',
    doctor: (log) => {
      log.heaps?.after.splice(0, 1, heapOf(23_000_000));
    },
  },
  {
    name: 'an end mark for a stream whose worker was lost',
    caughtAs: 'truncated',
    doctor: (log) => retell(log, 3, range(0, 25)),
  },
  {
    name: 'a request is settled twice',
    caughtAs: 'charged-twice',
    doctor: (log) => {
      for (const sample of log.budgets.slice(0, 1)) sample.spent += inputTokens + tokens;
    },
  },
  {
    name: 'the client of Redis sends commands again: one attempt, two jobs, two runs',
    caughtAs: 'too-many-runs',
    doctor: (log) => {
      log.faults = [];
      log.upstreamRuns.push(...log.upstreamRuns.slice(0, 1));
    },
  },
  {
    name: 'poison is tried again for ever',
    caughtAs: 'too-many-runs',
    doctor: (log) => {
      log.lines.push({ process: 'ingress 0', text: logLine(log.observations[4], 9) });
    },
  },
  {
    name: 'a cancel is ignored while the job waits',
    caughtAs: 'not-stopped',
    doctor: (log) => {
      log.faults = [];
      change(log, 8, (observation) => ({ ...observation, end: 'left', endedAt: 1_050 }));
      for (const run of log.upstreamRuns) if (run.index === 8) run.closedAt = 9_000;
    },
  },
  {
    name: 'the terminal event is lost and nobody asks for it',
    caughtAs: 'hung',
    doctor: (log) => change(log, 5, (observation) => ({ ...observation, end: 'hung', endedAt: 51_000 })),
  },
  {
    name: 'no heartbeat: a lost frame is never missed and the stream ends at its deadline',
    caughtAs: 'error-unexplained',
    doctor: (log) => {
      log.faults = [];
      const failure = 'data: {"error":{"message":"the deadline of the request has passed"}}\n\n';
      change(log, 0, ({ plan }) => observe(plan, bodyOf(range(0, 30)) + failure, 31_000));
    },
  },
  {
    name: 'a keep-alive counts as progress: a stalled upstream is waited for beyond the deadline',
    caughtAs: 'late',
    doctor: (log) => {
      log.faults = [];
      change(log, 6, (observation) => ({ ...observation, endedAt: 90_000 }));
    },
  },
  {
    name: 'no model stands in for one that failed before its client had anything',
    caughtAs: 'error-unexplained',
    doctor: (log) => {
      log.faults = [];
      change(log, 7, ({ plan }) => {
        const body = '{"error":{"message":"the mock was told to"}}';
        const { standIn: _none, ...observation } = observe(plan, body);
        return { ...observation, status: 502, answer: readAnswer(plan.format, plan.isStream, 502, body) };
      });
    },
  },
  {
    name: 'the log names another model than the header',
    caughtAs: 'wrong-model',
    doctor: (log) => {
      for (const line of log.lines) line.text = line.text.replace('"model":"sim"', '"model":"up"');
    },
  },
  {
    name: 'nobody is told that another model answered',
    caughtAs: 'wrong-model',
    doctor: (log) => change(log, 7, ({ standIn: _none, ...observation }) => observation),
  },
  {
    name: 'a model that stands in for no other answers in its name',
    caughtAs: 'wrong-model',
    doctor: (log) => {
      log.lines = [];
      change(log, 0, (observation) => ({ ...observation, standIn: 'up' }));
    },
  },
  {
    name: 'a prompt is logged',
    caughtAs: 'canary',
    doctor: (log) => {
      log.lines.push({ process: 'worker 0', text: `{"msg":"bad request","prompt":"${canaryPrompt}"}` });
    },
  },
  {
    name: "another request's frames are shown",
    caughtAs: 'foreign',
    doctor: (log) => {
      const foreign = range(0, 10).map((position) => referenceToken(7, position));
      const own = range(0, 20).map((position) => referenceToken(0, position));
      change(log, 0, ({ plan }) => observe(plan, sse([...own, ...foreign]) + ending));
    },
  },
];

function heapOf(bytes: number): HeapSample {
  return { process: 'ingress 0', pid: 1, bytes };
}

function planOf(index: number): RequestPlan {
  return {
    index,
    format: 'openai',
    isStream: true,
    model: index === 7 ? 'either' : index % 4 === 0 && index > 0 ? 'up' : 'sim',
    tokens,
    ttftMs: 0,
    gapMs: 5,
    tenant: tenantName(index % 3),
    ingress: 0,
    client: { kind: 'reads-all' },
    ...(index === 7 && { upstream: { kind: 'status', status: 500 } }),
  };
}

const ending =
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n' +
  `data: {"choices":[],"usage":{"prompt_tokens":${inputTokens},"completion_tokens":${tokens}}}\n\n` +
  'data: [DONE]\n\n';

function observe(plan: RequestPlan, body?: string, endedAt = 2_000): Observation {
  const text = body ?? sse(range(0, tokens).map((position) => referenceToken(plan.index, position))) + ending;
  return {
    plan,
    startedAt: 1_000,
    endedAt,
    status: 200,
    requestId: `r${plan.index}`,
    arrivedAt: [],
    body: text,
    answer: readAnswer(plan.format, plan.isStream, 200, text),
    end: 'clean',
    ...(plan.model === 'either' && { standIn: 'sim' }),
  };
}

/** Replaces an answer by the tokens of these positions and a whole end. */
function retell(log: RunLog, index: number, positions: readonly number[]): void {
  const words = positions.map((position) => referenceToken(index, position));
  change(log, index, ({ plan }) => observe(plan, sse(words) + ending));
}

function change(log: RunLog, index: number, doctor: (observation: Observation) => Observation): void {
  log.observations = log.observations.map((observation) =>
    observation.plan.index === index ? doctor(observation) : observation,
  );
}

function bodyOf(positions: readonly number[]): string {
  return sse(positions.map((position) => referenceToken(0, position)));
}

function sse(words: readonly string[]): string {
  return words
    .map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
    .join('');
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, offset) => from + offset);
}

function fault(kind: string, target: string): FaultRecord {
  return { kind, target, startedAt: 1_200, endedAt: 1_900 };
}

function logLine(observation: Observation | undefined, attempts: number): string {
  const { requestId, standIn: model, plan } = observation ?? {};
  const usage = { inputTokens, outputTokens: tokens };
  const standIn = model === undefined ? {} : { model, askedModel: plan?.model, ...usage };
  return JSON.stringify({ level: 'info', requestId, ...standIn, attempts, msg: 'request' });
}
