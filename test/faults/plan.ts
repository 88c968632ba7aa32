import { referenceText } from '@sluice/engines';
import { type Format, formats } from '../support/call.ts';
import { createRandom, type Random } from './random.ts';

/** How a client behaves. Bytes are counted in what it receives. */
export type ClientBehaviour =
  | { kind: 'reads-all' }
  | { kind: 'leaves'; afterBytes: number }
  | { kind: 'leaves-early'; afterMs: number }
  | { kind: 'reads-slowly'; bytesPerSecond: number; forMs: number; leaves?: boolean }
  | { kind: 'writes-bytewise' };

/** How the mock upstream fails. `at` counts tokens. */
export type UpstreamFault =
  | { kind: 'cut' | 'stall' | 'garbage' | 'half-close'; at: number }
  | { kind: 'status'; status: 429 | 500 };

/** Everything about one request, known before it is sent, so the checker need not trust the system under test. */
export interface RequestPlan {
  /** Counts from 0; also the seed of the reference text, so that every request has a text of its own. */
  index: number;
  format: Format;
  isStream: boolean;
  /** `sim` resumes exactly; `up` is a mock upstream, which can't; `either` is `up`, for which `sim` stands in. */
  model: 'sim' | 'up' | 'either';
  tokens: number;
  ttftMs: number;
  gapMs: number;
  tenant: string;
  /** Which ingress of the installation is called. */
  ingress: number;
  client: ClientBehaviour;
  upstream?: UpstreamFault;
}

export interface WorkloadOptions {
  requests: number;
  tenants: number;
  ingresses: number;
  seed: number;
  /** Share of requests to the mock upstream; default 0.25. */
  upstreamShare?: number;
  /** Share of these for which another model stands in; default 0.4. */
  eitherShare?: number;
  /** Whether upstreams and clients misbehave; default true. */
  hasMisbehaviour?: boolean;
  /** The most tokens of a long answer; default 300. */
  longestTokens?: number;
  /** Index of the first request; default 0. No two requests of a run may have the same. */
  firstIndex?: number;
}

/** Plans three formats × {stream, single} × {short, long} × tenants, with some clients and upstreams that misbehave. */
export function planWorkload(options: WorkloadOptions): RequestPlan[] {
  const random = createRandom(options.seed);
  const { requests, firstIndex = 0 } = options;
  return Array.from({ length: requests }, (_, index) => planRequest(firstIndex + index, options, random));
}

function planRequest(index: number, options: WorkloadOptions, random: Random): RequestPlan {
  const { tenants, ingresses, hasMisbehaviour = true, longestTokens = 300 } = options;
  const isLong = random.chance(0.3);
  const tokens = isLong ? random.between(Math.ceil(longestTokens / 3), longestTokens) : random.between(5, 40);
  const model = pickModel(options, random);
  const plan: RequestPlan = {
    index,
    format: random.pick(formats),
    isStream: random.chance(0.75),
    model,
    tokens,
    ttftMs: random.between(0, 40),
    gapMs: random.between(4, 14),
    tenant: tenantName(random.between(0, tenants - 1)),
    ingress: random.between(0, ingresses - 1),
    client: { kind: 'reads-all' },
  };
  if (hasMisbehaviour && random.chance(0.12)) plan.client = misbehave(random);
  const breaks = { sim: 0, up: 0.2, either: 0.5 }[model];
  if (hasMisbehaviour && random.chance(breaks)) plan.upstream = breakUpstream(tokens, random);
  return plan;
}

function pickModel({ upstreamShare = 0.25, eitherShare = 0.4 }: WorkloadOptions, random: Random) {
  if (!random.chance(upstreamShare)) return 'sim';
  return random.chance(eitherShare) ? 'either' : 'up';
}

function misbehave(random: Random): ClientBehaviour {
  return random.pick<() => ClientBehaviour>([
    () => ({ kind: 'leaves', afterBytes: random.between(1, 4_000) }),
    () => ({ kind: 'leaves-early', afterMs: random.between(0, 60) }),
    () => ({ kind: 'reads-slowly', bytesPerSecond: 100, forMs: random.between(200, 3_000) }),
    () => ({ kind: 'writes-bytewise' }),
  ])();
}

function breakUpstream(tokens: number, random: Random): UpstreamFault {
  const at = random.between(0, tokens - 1);
  return random.pick<UpstreamFault>([
    { kind: 'cut', at },
    { kind: 'stall', at },
    { kind: 'garbage', at },
    { kind: 'half-close', at },
    { kind: 'status', status: 429 },
    { kind: 'status', status: 500 },
  ]);
}

export function tenantName(index: number): string {
  return `tenant-${index}`;
}

/** Whether another model has to answer, because the upstream is told to break before its client has anything. */
export function needsStandIn({ model, upstream, isStream }: RequestPlan): boolean {
  if (model !== 'either' || !upstream) return false;
  return !isStream || upstream.kind === 'status' || upstream.at === 0;
}

/** Part of every prompt; must never be found outside of a waiting job. */
export const canaryPrompt = 'canary-prompt-f7c1e09b';

export function promptOf(plan: RequestPlan): string {
  const { tokens, ttftMs, gapMs, index, upstream } = plan;
  const fault = upstream ? ` [[up ${JSON.stringify(upstream)}]]` : '';
  return `${canaryPrompt} [[sim tokens=${tokens} ttft=${ttftMs}ms gap=${gapMs}ms seed=${index}]]${fault}`;
}

/** The text that a complete answer has. */
export function expectedText(plan: RequestPlan): string {
  return referenceText(plan.index, 0, plan.tokens);
}
