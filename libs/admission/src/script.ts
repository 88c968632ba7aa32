import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Cluster, type Redis, ReplyError } from 'ioredis';

/** A Lua script of scripts/, with the ledger's functions before it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** Reads a script from the files beside this one. */
export function readScript(name: 'reserve' | 'settle' | 'renew' | 'inspect'): Script {
  const source = ['ledger', name].map(readLua).join('\n');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** Runs a script by its digest, and sends its text only to a Redis that doesn't know it (yet, or any more). */
export async function runScript(
  redis: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(script.sha, keys.length, ...keys, ...values);
  } catch (error) {
    if (!(error instanceof ReplyError && String(error).includes('NOSCRIPT'))) throw error;
    return redis.eval(script.source, keys.length, ...keys, ...values);
  }
}

function readLua(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
}
