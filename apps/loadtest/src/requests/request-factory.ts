import { beginRequest, completeRequest, type WireRequest } from '@sluice/http';
import type { TraceEntry } from '../arrivals/trace.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { dialects } from '../dialects/registry.ts';
import { index, type Random } from '../random.ts';
import { pick, sample, sampleCount } from '../scenario/distribution.ts';
import { overlayFields } from '../scenario/json-overlay.ts';
import type { Scenario, Traffic } from '../scenario/scenario.ts';
import type { Target } from '../scenario/target.ts';
import { createPrompts, type PromptSource } from './prompt.ts';

/** One request, ready to be sent. */
export interface PlannedRequest {
  dialect: Dialect;
  isStream: boolean;
  wire: WireRequest;
  /** What is asked, independent of the format. Equal questions can be expected to get equal answers. */
  question: string;
  /** The client leaves after this many tokens. */
  abortAfterTokens?: number;
  /** The client leaves this long after it sent the request. */
  abortAfterMs?: number;
  readBytesPerSecond?: number;
}

/** What a factory draws from. */
export interface FactoryOptions {
  scenario: Scenario;
  target: Target;
  /** Credentials; empty sends none. */
  keys: readonly string[];
  /** Contents of the traffic's prompt files, by name. */
  promptFiles: Readonly<Record<string, readonly string[]>>;
  random: Random;
}

/** Makes the request of the arrival with this number; a trace may fix its lengths. */
export type RequestFactory = (arrival: number, trace?: TraceEntry) => PlannedRequest;

interface Entry {
  weight: number;
  traffic: Traffic;
  dialect: Dialect;
  prompts: PromptSource;
  bodies: { stream: BodyTemplate; single: BodyTemplate };
}

const promptMark = '\u0001prompt\u0001';
const limitMark = 918_273_645_546_372;

/** Compiles the traffic once, so that a request costs a few concatenations. */
export function createRequestFactory(options: FactoryOptions): RequestFactory {
  const { scenario, target, random, keys } = options;
  const entries: Entry[] = scenario.traffic.map((traffic) => {
    const dialect = dialects[traffic.format];
    const bodies = {
      stream: bodyTemplate(dialect, traffic, true),
      single: bodyTemplate(dialect, traffic, false),
    };
    const lines = traffic.prompt.file === undefined ? undefined : options.promptFiles[traffic.prompt.file];
    const prompts = createPrompts({ ...traffic.prompt, lines, random });
    return { weight: traffic.weight, traffic, dialect, prompts, bodies };
  });
  const heads = new Map<string, string>();
  const pickKey = createKeyPicker(keys, scenario.keys.pick, random);

  return (arrival, trace) => {
    const entry = entries.length === 1 && entries[0] ? entries[0] : pick(entries, random);
    const { traffic, dialect } = entry;
    const isStream = random() < traffic.streamShare;
    const limit =
      trace?.outputTokens ?? (traffic.outputTokens ? sampleCount(traffic.outputTokens, random) : undefined);
    const prompt = entry.prompts({ arrival, limit, words: trace?.promptTokens });
    const body = entry.bodies[isStream ? 'stream' : 'single'](prompt, limit);
    const key = pickKey(arrival);
    const headName = `${entries.indexOf(entry)} ${isStream} ${key}`;
    let head = heads.get(headName);
    if (head === undefined) {
      head = requestHead(entry, { target, isStream, key, headers: scenario.headers });
      if (heads.size < 10_000) heads.set(headName, head);
    }
    return {
      dialect,
      isStream,
      wire: completeRequest(head, body),
      question: `${limit} ${prompt}`,
      ...conduct(traffic, random),
    };
  };
}

/** How this client behaves: leaves in the middle, reads slowly, or neither. */
function conduct(traffic: Traffic, random: Random): Partial<PlannedRequest> {
  const { abort, slow } = traffic;
  if (abort && random() < abort.share) {
    return {
      ...(abort.afterTokens && { abortAfterTokens: sampleCount(abort.afterTokens, random) }),
      ...(abort.afterMs && { abortAfterMs: sample(abort.afterMs, random) }),
    };
  }
  if (slow && random() < slow.share) return { readBytesPerSecond: slow.bytesPerSecond };
  return {};
}

interface HeadFacts {
  target: Target;
  isStream: boolean;
  key: string | undefined;
  headers: Readonly<Record<string, string>>;
}

function requestHead({ dialect, traffic }: Entry, { target, isStream, key, headers }: HeadFacts): string {
  return beginRequest({
    path: withQuery(
      target.endpoint?.path ?? target.prefix + dialect.path(traffic.model, isStream),
      target.query,
    ),
    authority: target.origin.authority,
    headers: {
      'content-type': 'application/json',
      accept: isStream ? 'text/event-stream' : 'application/json',
      'user-agent': 'sluice-loadtest',
      ...dialect.headers(key),
      ...headers,
    },
  });
}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

type BodyTemplate = (prompt: string, limit: number | undefined) => string;

/** Cuts a body at the prompt and at the limit, which are first put in as marks that no scenario contains. */
function bodyTemplate(dialect: Dialect, traffic: Traffic, isStream: boolean): BodyTemplate {
  const ask = { model: traffic.model, prompt: promptMark, isStream };
  const cut = (maxTokens?: number) => {
    const asked = dialect.body({ ...ask, ...(maxTokens !== undefined && { maxTokens }) });
    const body = overlayFields(asked, traffic.body);
    return JSON.stringify(body).split(JSON.stringify(promptMark));
  };
  // If the scenario's `body` has its own messages, there is no place for the prompt.
  const parts = cut();
  const limitedParts = cut(limitMark);
  return (prompt, limit) => {
    const quoted = JSON.stringify(prompt);
    if (limit === undefined) return parts.join(quoted);
    return limitedParts.map((part) => part.replace(String(limitMark), String(limit))).join(quoted);
  };
}

function createKeyPicker(keys: readonly string[], how: Scenario['keys']['pick'], random: Random) {
  if (keys.length === 0) return () => undefined;
  if (how === 'in-turn') return (arrival: number) => keys[arrival % keys.length];
  if (how === 'random') return () => keys[index(random, keys.length)];
  const cumulative: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= keys.length; rank++) {
    sum += 1 / rank;
    cumulative.push(sum);
  }
  return () => {
    const point = random() * sum;
    return keys[cumulative.findIndex((bound) => point < bound)];
  };
}
