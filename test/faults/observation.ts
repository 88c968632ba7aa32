import type { RequestPlan } from './plan.ts';

/** The content of an answer, read strictly from its bytes in its own format. */
export interface ReadAnswer {
  text: string;
  /** How many signs of a whole answer there were: finish reasons of a stream, or a body with status 200. */
  finishes: number;
  /** How many end marks there were: `[DONE]`, `message_stop`, or, in a format without one, the finish itself. */
  endMarks: number;
  /** An error body, or an error in the stream. */
  error?: { status?: number; message: string };
  /** How many events came after an end mark or an error. */
  eventsAfterEnd: number;
  usage?: { inputTokens: number; outputTokens: number };
  /** Whatever the format does not allow, in words. */
  malformed: string[];
}

/**
 * How the transport ended.
 * - `clean`: the body ended as HTTP says.
 * - `cut`: the body broke off.
 * - `refused`: no connection, or it broke before a status line.
 * - `left`: the client went away on purpose.
 * - `hung`: the client gave up long after the deadline.
 */
export type TransportEnd = 'clean' | 'cut' | 'refused' | 'left' | 'hung';

/** All that a client saw of one request. Instants are epoch milliseconds by the runner's clock. */
export interface Observation {
  plan: RequestPlan;
  startedAt: number;
  endedAt: number;
  /** Absent if there was no status line. */
  status?: number;
  requestId?: string;
  /** The model that answered instead of the one that was asked for, if a header named one. */
  standIn?: string;
  /** When pieces of the body arrived. */
  arrivedAt: number[];
  /** The body as it came. */
  body: string;
  answer: ReadAnswer;
  end: TransportEnd;
}

/** One fault that the nemesis injected. */
export interface FaultRecord {
  kind: string;
  /** What it hit, as `ingress 0` or `redis`. */
  target: string;
  startedAt: number;
  /** When all of it was undone: processes serve again, connections pass. */
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
  /** Gauges that must be 0, and their values. */
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

/** A tenant's budget at one moment. */
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
  /** What had been charged, each time that a fault made Redis lose its data. */
  lostCharges: LostCharge[];
  /** Absent if heaps were not measured. */
  heaps?: Heaps;
  /** Strings that must not be found anywhere, and what each is. */
  canaries: { what: string; text: string }[];
  /** Texts that must hold no canary, and where each was found. */
  haystacks: { where: string; text: string }[];
}
