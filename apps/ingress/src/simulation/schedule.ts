import type { ResumeAbility } from '@sluice/canonical';
import { between, createRandom, type Random } from './random.ts';

/** Something that goes wrong at the time `at`, and lasts for `forMs` if it has a duration. */
export type Fault =
  | { kind: 'crash'; at: number; worker: number; isAnnounced: boolean }
  | { kind: 'stall'; at: number; worker: number; forMs: number }
  | { kind: 'drain'; at: number; worker: number; graceMs: number }
  | { kind: 'ingress-cut'; at: number; forMs: number }
  | { kind: 'worker-cut'; at: number; worker: number; forMs: number }
  | { kind: 'redis-restart'; at: number; forMs: number }
  | { kind: 'job-lost'; at: number }
  | { kind: 'job-given-out-twice'; at: number; againAfterMs: number };

/** `kills-its-worker` kills it after its first events, `kills-at-once` as soon as the engine is called. */
export type Oddity = 'kills-its-worker' | 'kills-at-once' | 'refuses-at-first';

/** One request of a schedule. Times are milliseconds since its beginning. */
export interface SimulatedRequest {
  at: number;
  /** Length of the answer. */
  tokens: number;
  /** Whether its client sees the answer before its end. */
  isStream: boolean;
  /** When its client leaves; absent if it stays. */
  leavesAt?: number;
  /** When its client stops reading, and for how long; absent if it always reads. */
  pauses?: { at: number; forMs: number };
  /** What its engine does besides answering; absent means nothing. */
  oddity?: Oddity;
}

/** One play of the simulation, as data: the same schedule always gives the same course of events. */
export interface Schedule {
  /** Seed of everything that is drawn during the play: delays, losses, gaps between tokens. */
  seed: number;
  workers: number;
  slots: number;
  /** The longest time that a job takes from Redis to its worker. */
  replyMs: number;
  resume: ResumeAbility;
  /** Longest gap between two tokens. */
  tokenMs: number;
  bus: {
    /** Probability that a message never arrives, until the faults are over. */
    loss: number;
    /** Probability that it arrives twice. */
    duplication: number;
    delayMs: number;
    /** Whether messages of one channel keep their order. */
    isOrdered: boolean;
    /** Whether a claim tells the ingress by itself, as it does outside of a cluster. */
    announcesClaims: boolean;
  };
  requests: SimulatedRequest[];
  faults: Fault[];
}

/** From this time on no fault begins or lasts, and everything has to come to an end. */
export const calmAt = 2_500;

const nearReplyMs = 3;
/** A prompt of many megabytes on a slow link. */
const farReplyMs = 6_000;

const faultKinds: readonly Fault['kind'][] = [
  'crash',
  'stall',
  'drain',
  'ingress-cut',
  'worker-cut',
  'redis-restart',
  'job-lost',
  'job-given-out-twice',
];

/** The schedule of a seed. */
export function drawSchedule(seed: number): Schedule {
  const random = createRandom(seed);
  const workers = between(random, 1, 3);
  const isLossy = random() < 0.5;
  // Whether a request streams was added later. It has a sequence of its own, so that all else that a seed draws stayed
  // the same.
  const streams = createRandom(seed ^ 0x2545f491);
  // So was who announces a claim.
  const announcesClaims = createRandom(seed ^ 0x3c6ef372)() < 0.7;
  // And how long a job is on its way.
  const isFar = createRandom(seed ^ 0x27d4eb2f)() < 0.1;
  return {
    seed,
    workers,
    slots: between(random, 1, 2),
    replyMs: isFar ? farReplyMs : nearReplyMs,
    resume: pick(random, ['exact', 'exact', 'prefix', 'none']),
    tokenMs: pick(random, [2, 20, 120]),
    bus: {
      loss: isLossy ? pick(random, [0.03, 0.2, 0.5]) : 0,
      duplication: random() < 0.4 ? 0.15 : 0,
      delayMs: pick(random, [1, 5, 60]),
      isOrdered: random() < 0.6,
      announcesClaims,
    },
    requests: Array.from({ length: between(random, 1, 3) }, () => ({
      ...drawRequest(random),
      isStream: streams() < 0.7,
    })),
    faults: Array.from({ length: between(random, 0, 5) }, () => drawFault(random, workers)),
  };
}

/** A schedule in which only messages to the ingress are lost, while its subscription is cut. */
export function drawCuts(seed: number): Schedule {
  const schedule = drawSchedule(seed);
  const random = createRandom(seed ^ 0x5bd1e995);
  return {
    ...schedule,
    replyMs: nearReplyMs,
    tokenMs: 20,
    bus: { ...schedule.bus, loss: 0, duplication: 0, delayMs: 5, isOrdered: true },
    requests: schedule.requests.map(({ at, tokens, isStream }) => ({ at, tokens, isStream })),
    faults: Array.from({ length: between(random, 1, 4) }, () => ({
      kind: 'ingress-cut' as const,
      at: between(random, 1, 400),
      forMs: between(random, 10, 700),
    })),
  };
}

/**
 * A schedule in which nothing is lost, but the workers hardly get any time to run, so that their messages come late.
 */
export function drawStarvation(seed: number): Schedule {
  const schedule = drawSchedule(seed);
  const random = createRandom(seed ^ 0x1b873593);
  const faults: Fault[] = [];
  for (let worker = 0; worker < schedule.workers; worker += 1) {
    // Stalls, one after the other, each shorter than the silence after which a worker counts as lost.
    for (let at = between(random, 0, 200); at < 12_000; ) {
      const forMs = between(random, 400, 1_400);
      faults.push({ kind: 'stall', at, worker, forMs });
      at += forMs + 1;
    }
  }
  return {
    ...schedule,
    slots: 1,
    replyMs: nearReplyMs,
    tokenMs: 20,
    bus: { ...schedule.bus, loss: 0, duplication: 0, delayMs: 5, isOrdered: true },
    // There are more requests than slots, so some wait for long, and may be looked for just when they are claimed.
    requests: Array.from({ length: between(random, 3, 6) }, (_, index) => ({
      at: between(random, 0, 300),
      tokens: between(random, 1, 4),
      isStream: index % 2 === 0,
    })),
    faults,
  };
}

/** A schedule without faults, in which each job is long on its way. */
export function drawFar(seed: number): Schedule {
  const schedule = drawSchedule(seed);
  return {
    ...schedule,
    replyMs: farReplyMs,
    bus: { ...schedule.bus, loss: 0, duplication: 0, delayMs: 5, isOrdered: true },
    requests: schedule.requests.map(({ at, tokens, isStream }) => ({ at, tokens, isStream })),
    faults: [],
  };
}

/** Every smaller schedule that is one step away, for the search for the smallest that still fails. */
export function* smallerSchedules(schedule: Schedule): Generator<Schedule> {
  const { faults, requests, bus } = schedule;
  for (const index of faults.keys()) yield { ...schedule, faults: faults.toSpliced(index, 1) };
  if (requests.length > 1) {
    for (const index of requests.keys()) yield { ...schedule, requests: requests.toSpliced(index, 1) };
  }
  for (const [index, request] of requests.entries()) {
    const { leavesAt: _leaves, pauses: _pauses, oddity: _oddity, ...plain } = request;
    if (Object.keys(plain).length < Object.keys(request).length) {
      yield { ...schedule, requests: requests.with(index, plain) };
    }
    const tokens = Math.floor(request.tokens / 2);
    if (tokens > 0) yield { ...schedule, requests: requests.with(index, { ...request, tokens }) };
  }
  if (schedule.replyMs > nearReplyMs) yield { ...schedule, replyMs: nearReplyMs };
  if (schedule.workers > 1) yield { ...schedule, workers: schedule.workers - 1 };
  if (bus.loss > 0) yield { ...schedule, bus: { ...bus, loss: 0 } };
  if (bus.duplication > 0) yield { ...schedule, bus: { ...bus, duplication: 0 } };
  if (!bus.isOrdered) yield { ...schedule, bus: { ...bus, isOrdered: true } };
}

function drawRequest(random: Random): Omit<SimulatedRequest, 'isStream'> {
  const at = between(random, 0, 300);
  const fate = random();
  return {
    at,
    tokens: pick(random, [1, 4, 12, 30]),
    ...(fate < 0.12 && { leavesAt: at + between(random, 0, 800) }),
    ...(fate > 0.85 && { pauses: { at: at + between(random, 0, 300), forMs: between(random, 1, 1_500) } }),
    ...(random() < 0.08 && {
      oddity: pick(random, ['kills-its-worker', 'kills-at-once', 'refuses-at-first'] as const),
    }),
  };
}

function drawFault(random: Random, workers: number): Fault {
  const kind = pick(random, faultKinds);
  const at = between(random, 0, 1_500);
  const worker = between(random, 0, workers - 1);
  const forMs = between(random, 5, calmAt - at);
  switch (kind) {
    case 'crash':
      return { kind, at, worker, isAnnounced: random() < 0.7 };
    case 'stall':
      return { kind, at, worker, forMs };
    case 'drain':
      return { kind, at, worker, graceMs: between(random, 0, 300) };
    case 'ingress-cut':
    case 'redis-restart':
      return { kind, at, forMs: between(random, 5, 800) };
    case 'worker-cut':
      return { kind, at, worker, forMs };
    case 'job-lost':
      return { kind, at: between(random, 0, 300) };
    case 'job-given-out-twice':
      return { kind, at: between(random, 0, 300), againAfterMs: between(random, 1, 900) };
  }
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new TypeError('nothing to pick from');
  return item;
}
