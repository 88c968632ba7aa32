import { type ErrorKind, type FinishReason, SluiceError } from '@sluice/canonical';
import { mostCalls } from '../most-calls.ts';

/** What a prompt orders with `[[sim …]]`; what it does not mention is absent. */
export interface Directive {
  tokens?: number;
  ttftMs?: number;
  gapMs?: number;
  burst?: number;
  seed?: number;
  finish?: FinishReason;
  error?: { kind: ErrorKind; at: number };
  stallAt?: number;
  isStamped?: boolean;
  /** Names of the tools to call, in order. */
  tools?: string[];
  reasoning?: number;
}

const maxTokens = 1_000_000;
const maxDurationMs = 3_600_000;
/** A blank or the end must follow, so that [[similar]] is just text. */
const opening = /\[\[sim(?=[\s\]])/;
const closing = ']]';
const itemPattern = /^([a-z]+)(?:=([^@\s]+))?(?:@(\d{1,7}))?$/;

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool-calls', 'content-filter', 'other'];

/** Canonical kinds, their HTTP statuses, and the words that people use for them. */
const errorKinds: Readonly<Record<string, ErrorKind>> = {
  'invalid-request': 'invalid-request',
  400: 'invalid-request',
  unauthenticated: 'unauthenticated',
  401: 'unauthenticated',
  'budget-exhausted': 'budget-exhausted',
  402: 'budget-exhausted',
  'permission-denied': 'permission-denied',
  403: 'permission-denied',
  'not-found': 'not-found',
  404: 'not-found',
  'method-not-allowed': 'method-not-allowed',
  405: 'method-not-allowed',
  'too-large': 'too-large',
  413: 'too-large',
  'unsupported-media': 'unsupported-media',
  415: 'unsupported-media',
  'rate-limited': 'rate-limited',
  429: 'rate-limited',
  saturated: 'saturated',
  overloaded: 'saturated',
  cancelled: 'cancelled',
  499: 'cancelled',
  internal: 'internal',
  500: 'internal',
  'upstream-failed': 'upstream-failed',
  502: 'upstream-failed',
  unavailable: 'unavailable',
  503: 'unavailable',
  'deadline-exceeded': 'deadline-exceeded',
  timeout: 'deadline-exceeded',
  504: 'deadline-exceeded',
};

interface Item {
  name: string;
  value: string | undefined;
  at: number | undefined;
}

type Reader = (item: Item, directive: Directive) => void;

const readers: Readonly<Record<string, Reader>> = {
  tokens: (item, directive) => assign(directive, { tokens: count(item) }),
  words: (item, directive) => assign(directive, { tokens: count(item) }),
  ttft: (item, directive) => assign(directive, { ttftMs: duration(item) }),
  gap: (item, directive) => assign(directive, { gapMs: duration(item) }),
  burst: (item, directive) => assign(directive, { burst: Math.max(1, count(item)) }),
  seed: (item, directive) => assign(directive, { seed: seed(item) }),
  reasoning: (item, directive) => assign(directive, { reasoning: count(item) }),
  finish: (item, directive) => assign(directive, { finish: finish(item) }),
  error: (item, directive) => assign(directive, { error: { kind: errorKind(item), at: item.at ?? 0 } }),
  stall: (item, directive) => assign(directive, { stallAt: stall(item) }),
  stamp: (item, directive) => assign(directive, { isStamped: flag(item) }),
  tool: (item, directive) => assign(directive, { tools: addTools(directive.tools ?? [], item) }),
};

/**
 * The directive in a prompt: the first `[[sim …]]`, with items in any order between blanks:
 *
 *     tokens=200      length of the text (100 without it); words= is the same
 *     ttft=50ms       pause before the first token; 50ms, 1.5s, a bare number is milliseconds
 *     gap=20ms        pause between tokens; 0 is as fast as it goes
 *     burst=4         tokens that come together after each gap
 *     seed=7          which text; see `referenceToken`
 *     reasoning=30    tokens of reasoning before the text
 *     tool=a,b        calls these tools, in parallel where there are several
 *     finish=length   stop, length, tool-calls, content-filter or other
 *     error=503@10    fails after 10 tokens; at 0 (or without @) before anything; a canonical kind or a status
 *     stall@10        says nothing more after 10 tokens until it is aborted
 *     stamp           every token of the text carries its emission time; see `parseStamps`
 *
 * Absent when the prompt has none. Throws `invalid-request` naming the item that makes no sense, never its text.
 */
export function parseDirective(prompt: string): Directive | undefined {
  const found = opening.exec(prompt);
  if (!found) return undefined;
  const from = found.index + found[0].length;
  const to = prompt.indexOf(closing, from);
  if (to === -1) throw new SluiceError('invalid-request', 'the sim directive has no closing ]]');
  const directive: Directive = {};
  const items = prompt.slice(from, to).split(/\s+/);
  for (const [index, text] of items.filter((item) => item !== '').entries()) {
    const [, name = '', value, at] = itemPattern.exec(text) ?? [];
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!reader) throw bad(`item ${index + 1} is none of ${Object.keys(readers).join(', ')}`);
    if (at !== undefined && name !== 'error' && name !== 'stall') throw bad(`${name} takes no @`);
    reader({ name, value, at: at === undefined ? undefined : Number(at) }, directive);
  }
  return directive;
}

function assign(directive: Directive, fields: Directive): void {
  Object.assign(directive, fields);
}

function bad(fact: string): SluiceError {
  return new SluiceError('invalid-request', `the sim directive is malformed: ${fact}`);
}

function count({ name, value }: Item): number {
  const number = /^\d+$/.test(value ?? '') ? Number(value) : Number.NaN;
  if (!(number <= maxTokens)) throw bad(`${name} must be a whole number from 0 to ${maxTokens}`);
  return number;
}

function seed({ value }: Item): number {
  const number = /^\d+$/.test(value ?? '') ? Number(value) : Number.NaN;
  if (!(number <= 0xffffffff)) throw bad('seed must be a whole number of 32 bits');
  return number;
}

function duration({ name, value }: Item): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(value ?? '') ?? [];
  const durationMs = Number(number) * (unit === 's' ? 1000 : 1);
  if (!(durationMs <= maxDurationMs))
    throw bad(`${name} must be a duration such as 50ms or 1s, an hour at most`);
  return durationMs;
}

function finish({ value }: Item): FinishReason {
  const reason = finishReasons.find((candidate) => candidate === value);
  if (!reason) throw bad(`finish must be one of ${finishReasons.join(', ')}`);
  return reason;
}

function errorKind({ value = '' }: Item): ErrorKind {
  const kind = Object.hasOwn(errorKinds, value) ? errorKinds[value] : undefined;
  if (!kind) throw bad(`error must be one of ${Object.keys(errorKinds).join(', ')}`);
  return kind;
}

function stall({ value, at }: Item): number {
  if (value !== undefined || at === undefined) throw bad('stall needs a place, as in stall@10');
  return at;
}

function flag({ name, value }: Item): true {
  if (value !== undefined) throw bad(`${name} takes no value`);
  return true;
}

function addTools(known: readonly string[], { value = '' }: Item): string[] {
  const names = value.split(',').filter((name) => name !== '');
  if (names.length === 0) throw bad('tool needs a name, as in tool=get_weather');
  if (known.length + names.length > mostCalls) throw bad(`tool names more than ${mostCalls} calls`);
  return [...known, ...names];
}
