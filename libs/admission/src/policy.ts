import { type Json, SluiceError } from '@sluice/canonical';
import { spellingHint } from '@sluice/runtime';
import type { Limits, ScopedLimits } from '@sluice/tenancy';
import { formatDuration, parseDurationMs } from './duration.ts';
import type { BoundLimit, Limit, Scope } from './limit.ts';
import { limits } from './registry.ts';

/** A bound policy with its scope. */
export interface ScopedLimit {
  readonly scope: Scope;
  readonly limit: BoundLimit;
}

/** The limit of this name. If there is none, throws `invalid-request` with the nearest name or all names. */
export function limitNamed(name: string): Limit {
  const limit = limits.find((candidate) => candidate.name === name);
  if (limit) return limit;
  const names = limits.map((each) => each.name);
  throw new SluiceError(
    'invalid-request',
    `there is no limit ${JSON.stringify(name)}${spellingHint(name, names)}`,
  );
}

/**
 * Parses a policy as people write it: `10` is `{max: 10}`, `60/1m` is `{max: 60, periodMs: 60000}`, and text that
 * starts with a brace is the policy in JSON. Throws `invalid-request` if it does not fit the limit.
 */
export function parsePolicy(name: string, text: string): Json {
  const limit = limitNamed(name);
  const parsed = limit.policy.safeParse(text.startsWith('{') ? readJson(text) : readShort(text));
  if (!parsed.success) {
    throw new SluiceError(
      'invalid-request',
      `${JSON.stringify(text)} is no policy of ${name}, which is written as ${name}=${limit.example}`,
    );
  }
  // The schemas have no transformations, so their output for JSON is JSON.
  return parsed.data as Json;
}

/** The short form of a policy, or JSON if it has none. */
export function formatPolicy(policy: Json): string {
  if (typeof policy === 'object' && policy !== null && !Array.isArray(policy)) {
    const { max, periodMs, ...rest } = policy;
    if (typeof max === 'number' && Object.keys(rest).length === 0) {
      if (periodMs === undefined) return String(max);
      if (typeof periodMs === 'number') return `${max}/${formatDuration(periodMs)}`;
    }
  }
  return JSON.stringify(policy);
}

/** The bound policies of a caller: those of its key, then those of its tenant, each in the registry's order. */
export function bindLimits({ key, tenant }: ScopedLimits): readonly ScopedLimit[] {
  return [...bindScope(key, 'key'), ...bindScope(tenant, 'tenant')];
}

function bindScope(policies: Limits, scope: Scope): ScopedLimit[] {
  for (const name of Object.keys(policies)) {
    if (!limits.some((limit) => limit.name === name)) {
      throw new SluiceError('internal', `a stored policy names limit ${name}, which does not exist here`);
    }
  }
  return limits.flatMap((limit) => {
    const policy = policies[limit.name];
    return policy === undefined ? [] : [{ scope, limit: limit.bind(policy) }];
  });
}

/** Parses the short form of a policy. Absent, which fits no limit, if the text does not have that form. */
function readShort(text: string): Json | undefined {
  const [, count, period] = /^(\d[\d_]*)(?:\/(.+))?$/.exec(text) ?? [];
  if (count === undefined) return undefined;
  return {
    max: Number(count.replaceAll('_', '')),
    ...(period !== undefined && { periodMs: parseDurationMs(period) }),
  };
}

function readJson(text: string): Json {
  try {
    // JSON.parse gives nothing but Json.
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new SluiceError('invalid-request', 'the policy is not JSON', { cause });
  }
}
