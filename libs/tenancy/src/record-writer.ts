import { readFileSync } from 'node:fs';
import { SluiceError } from '@sluice/canonical';
import { type Cluster, type Redis, ReplyError } from 'ioredis';
import { z } from 'zod';
import { names } from './names.ts';

type RedisCommand = readonly string[];

const readScript = (name: 'write' | 'delete-tenant' | 'delete-keys'): string =>
  readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
const writeScript = readScript('write');
const deleteTenantScript = readScript('delete-tenant');
const deleteKeysScript = readScript('delete-keys');
const keyIdsSchema = z.array(z.string()).optional();

/**
 * Writes records, each change in one atomic step that is published to every ingress. If another operator deletes the
 * record at the same time, the change is either deleted with it or not written.
 */
export class RecordWriter {
  private readonly redis: Redis | Cluster;

  constructor(redis: Redis | Cluster) {
    this.redis = redis;
  }

  /** Writes to the record, whether or not it exists. */
  async create(record: string, subject: string, commands: readonly RedisCommand[]): Promise<void> {
    await this.write('new', record, subject, commands);
  }

  /** Writes to an existing record. Returns false, and writes nothing, if it does not exist. */
  async change(record: string, subject: string, commands: readonly RedisCommand[]): Promise<boolean> {
    return (await this.write('there', record, subject, commands)) === 1;
  }

  /** Deletes a tenant with its keys. Returns the ids of the keys; absent if there is no such tenant. */
  async deleteTenant(id: string): Promise<string[] | undefined> {
    const { tenant, keysOf, tenants, keyIds, key, changes } = names;
    const keys = [tenant(id), keysOf(id), tenants, keyIds];
    const ended = await this.run(deleteTenantScript, keys, [id, key(''), changes, `tenant ${id}`]);
    return keyIdsSchema.parse(ended ?? undefined);
  }

  /** Deletes keys. Returns how many of them there were. */
  async deleteKeys(ids: readonly string[]): Promise<number> {
    const { keyIds, key, keysOf, changes } = names;
    return Number(await this.run(deleteKeysScript, [keyIds], [key(''), keysOf(''), changes, ...ids]));
  }

  private write(kind: 'new' | 'there', record: string, subject: string, commands: readonly RedisCommand[]) {
    return this.run(writeScript, [record], [kind, names.changes, subject, JSON.stringify(commands)]);
  }

  private async run(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    try {
      return await this.redis.eval(script, keys.length, ...keys, ...values);
    } catch (cause) {
      // Without a reply of Redis, it is not known whether anything was written, so the error is passed on as it is.
      if (!(cause instanceof ReplyError)) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new SluiceError('internal', `a tenancy record was not written: ${reason}`, { cause });
    }
  }
}
