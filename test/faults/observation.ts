import type { RequestPlan } from './plan.ts';

/** What an answer says in its format's own words, read strictly from its bytes. */
export interface ReadAnswer {
  text: string;
  /** Signs of a whole answer: a finish reason of a stream, or a body of status 200. */
  finishes: number;
  /** The format's end mark: `[DONE]`, `message_stop`, or where there is none the finish itself. */
  endMarks: number;
  /** An error body, or an error in the stream. */
  error?: { status?: number; message: string };
  /** Events that came after an end mark or an error. */
  eventsAfterEnd: number;
  usage?: { inputTokens: number; outputTokens: number };
  /** What is not legal in the format at all, in words. */
  malformed: string[];
}

/**
 * How the transport ended.
 * - `clean`: the body ended as HTTP says.
 * - `cut`: it broke off.
 * - `refused`: no connection, or it broke before a status line.
 * - `left`: the client went away on its own will.
 * - `hung`: the client gave up long after the deadline.
 */
export type TransportEnd = 'clean' | 'cut' | 'refused' | 'left' | 'hung';

/** All that a client saw of one request. Instants are epoch milliseconds of the runner. */
export interface Observation {
  plan: RequestPlan;
  startedAt: number;
  endedAt: number;
  /** The status line; absent when there was none. */
  status?: number;
  requestId?: string;
  /** When pieces of the body arrived. */
  arrivedAt: number[];
  /** The body as it came. */
  body: string;
  answer: ReadAnswer;
  end: TransportEnd;
}

/** Something that the nemesis did. */
export interface FaultRecord {
  kind: string;
  /** What it was done to, as `ingress 0` or `redis`. */
  target: string;
  startedAt: number;
  /** When the last of it was undone: processes serve again, connections pass. */
  endedAt: number;
}

/** A call that the mock upstream served. */
export interface UpstreamRun {
  /** `RequestPlan.index`. */
  index: number;
  startedAt: number;
  closedAt?: number;
  wasAborted: boolean;
}

/** A line that a process wrote. */
export interface ProcessLine {
  process: string;
  text: string;
}

/** What is left when the load has been gone for a while. */
export interface Leftovers {
  /** Gauge of a process → its value; only such as must be 0. */
  gauges: Record<string, number>;
  /** Jobs of BullMQ by state, leases and reservations by their key. */
  redis: Record<string, number>;
  /** Keys that belong to a request and do not expire. */
  keysWithoutExpiry: string[];
}

/** Live JavaScript objects of one process, after forced collections. */
export interface HeapSample {
  process: string;
  pid: number;
  bytes: number;
}

/** The heaps of processes that lived through a load of its own, at rest before it and at rest after it. */
export interface Heaps {
  before: HeapSample[];
  after: HeapSample[];
}

/** What a tenant had been charged when Redis lost it. */
export interface LostCharge {
  tenant: string;
  spent: number;
}

/** What a tenant's budget said at one moment. */
export interface BudgetSample {
  at: number;
  tenant: string;
  spent: number;
  reserved: number;
  limit: number;
}

/** The whole log of a run: all that the checker looks at. */
export interface RunLog {
  deadlineMs: number;
  observations: Observation[];
  faults: FaultRecord[];
  upstreamRuns: UpstreamRun[];
  lines: ProcessLine[];
  /** Sums over all processes that lived at the end, by `name{label="value"}`. */
  counters: Record<string, number>;
  leftovers: Leftovers;
  budgets: BudgetSample[];
  /** What was charged and went with Redis's data, each time that it lost them on purpose. */
  lostCharges: LostCharge[];
  /** Absent when nobody looked. */
  heaps?: Heaps;
  /** Strings that must not be found, by what they are. */
  canaries: { what: string; text: string }[];
  /** Texts that must hold no canary, by where they were found. */
  haystacks: { where: string; text: string }[];
}
