import { readFileSync } from 'node:fs';
import { SluiceError } from '@sluice/canonical';
import { type Cluster, type Redis, ReplyError } from 'ioredis';
import { z } from 'zod';
import type { TenancyNames } from './names.ts';

type RedisCommand = readonly string[];

const readScript = (name: 'write' | 'delete-tenant'): string =>
  readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
const writeScript = readScript('write');
const deleteTenantScript = readScript('delete-tenant');
const keyIdsSchema = z.array(z.string()).optional();

/**
 * Writes what belongs together in one step, each of which every ingress hears of. What is written to a record that
 * another operator deletes at the same time is either gone with it or not written.
 */
export class RecordWriter {
  private readonly redis: Redis | Cluster;
  private readonly names: TenancyNames;

  constructor(redis: Redis | Cluster, names: TenancyNames) {
    this.redis = redis;
    this.names = names;
  }

  /** Writes whether or not the record is there. */
  async create(record: string, subject: string, commands: readonly RedisCommand[]): Promise<void> {
    await this.write('new', record, subject, commands);
  }

  /** False where the record is not there: then nothing is written. */
  async change(record: string, subject: string, commands: readonly RedisCommand[]): Promise<boolean> {
    return (await this.write('there', record, subject, commands)) === 1;
  }

  /** The ids of the keys that ended with it; absent where there is no such tenant. */
  async deleteTenant(id: string): Promise<string[] | undefined> {
    const { tenant, keysOf, tenants, keyIds, key, changes } = this.names;
    const keys = [tenant(id), keysOf(id), tenants, keyIds];
    const ended = await this.run(deleteTenantScript, keys, [id, key(''), changes, `tenant ${id}`]);
    return keyIdsSchema.parse(ended ?? undefined);
  }

  private write(kind: 'new' | 'there', record: string, subject: string, commands: readonly RedisCommand[]) {
    return this.run(writeScript, [record], [kind, this.names.changes, subject, JSON.stringify(commands)]);
  }

  private async run(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    try {
      return await this.redis.eval(script, keys.length, ...keys, ...values);
    } catch (cause) {
      // Where Redis gave no answer, nobody knows what was written.
      if (!(cause instanceof ReplyError)) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new SluiceError('internal', `a tenancy record was not written: ${reason}`, { cause });
    }
  }
}
