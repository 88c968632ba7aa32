import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ReplyError } from 'ioredis';
import type { RedisClient } from './connection.ts';

/** A script that runs inside Redis. */
export interface LuaScript {
  readonly source: string;
  readonly sha: string;
}

type LuaValues = readonly (string | number)[];

/** Reads a script from one or more files, in their order. */
export function readLuaScript(...files: readonly URL[]): LuaScript {
  const source = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * Runs a script by its digest, and sends its source only to a Redis that does not know it (yet, or any more). If
 * `values` is a function, it is called again for that second try, because other commands were sent in between.
 */
export async function runLuaScript(
  redis: RedisClient,
  script: LuaScript,
  keys: readonly string[],
  values: LuaValues | (() => LuaValues),
): Promise<unknown> {
  const current = typeof values === 'function' ? values : () => values;
  try {
    return await redis.evalsha(script.sha, keys.length, ...keys, ...current());
  } catch (error) {
    if (!(error instanceof ReplyError && String(error).includes('NOSCRIPT'))) throw error;
    return redis.eval(script.source, keys.length, ...keys, ...current());
  }
}
