import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createBus } from '../bus.ts';
import { subscribeReplies } from '../presence/ingress-presence.ts';
import type { ReplyBatch } from '../replies/frame.ts';
import { createJob } from '../transport-suite.ts';
import { claimNotice } from './claim-notice.ts';
import { queueEntry } from './job-queue.ts';
import { claimJobs, enqueueJobs, poolQueueKeys } from './queue-scripts.ts';

let server: OwnTestRedis;
const open: Redis[] = [];
const keys = poolQueueKeys('chat');

beforeAll(async () => {
  server = await startOwnRedis();
});
afterEach(async () => {
  await open[0]?.flushall();
  for (const redis of open.splice(0)) redis.disconnect();
});
afterAll(() => server.stop());

function connect(suffix = '', login: { username?: string; password?: string } = {}): Redis {
  const redis = new Redis(server.url + suffix, { maxRetriesPerRequest: null, ...login });
  open.push(redis);
  return redis;
}

/** All that an ingress is told on its reply channel. */
async function listen(ingress: string, suffix = ''): Promise<ReplyBatch[]> {
  const batches: ReplyBatch[] = [];
  const bus = createBus(connect(suffix), connect(suffix), (error) => {
    throw error;
  });
  await subscribeReplies(bus, ingress, (batch) => batches.push(batch));
  return batches;
}

/** Claims these jobs as worker `w "1"`, and returns of each whether its ingress was told. */
async function claim(
  redis: Redis,
  jobs: readonly { id: string; data: string | Buffer }[],
): Promise<boolean[]> {
  await enqueueJobs(
    connect(redis.options.db ? `/${redis.options.db}` : ''),
    keys,
    jobs.map((job) => ({ ...job, lifeMs: 60_000, priority: 1 })),
  );
  const claimed = await claimJobs(redis, keys, 9, claimNotice(redis, 'w "1"'));
  expect(claimed).toHaveLength(jobs.length);
  return claimed.map(({ isAnnounced }) => isAnnounced);
}

const jobOf = (requestId: string, replyTo: string, more = {}) =>
  queueEntry(createJob(requestId, { replyTo, ...more }));
const told = (...claims: { requestId: string; attempt: number }[]): ReplyBatch => ({
  worker: 'w "1"',
  claims,
  frames: [],
  running: [],
  gone: [],
});

describe('a claim', () => {
  it('tells each ingress of all of its jobs in one message', async () => {
    const [first, second] = [await listen('first'), await listen('second')];
    const jobs = [jobOf('r1', 'first'), jobOf('r2', 'second', { attempt: 12 }), jobOf('r3', 'first')];
    expect(await claim(connect(), jobs)).toEqual([true, true, true]);
    await until(() => first.length + second.length === 2);
    expect(first).toEqual([told({ requestId: 'r1', attempt: 1 }, { requestId: 'r3', attempt: 1 })]);
    expect(second).toEqual([told({ requestId: 'r2', attempt: 12 })]);
  });

  it('tells of a job whatever the order in which its ingress has put it together', async () => {
    const mine = await listen('mine');
    const { attempt, replyTo, ...job } = createJob('r1', { replyTo: 'mine' });
    expect(await claim(connect(), [queueEntry({ ...job, replyTo, attempt })])).toEqual([true]);
    await until(() => mine.length === 1);
  });

  it('tells of a large job, too', async () => {
    const mine = await listen('mine');
    expect(await claim(connect(), [jobOf('r1', 'mine', { tenant: '→'.repeat(500_000) })])).toEqual([true]);
    await until(() => mine.length === 1);
  });

  it('says so where it could tell nobody: the ingress is away, or the job begins as no ingress of ours writes it', async () => {
    const mine = await listen('mine');
    const { version, ...rest } = createJob('r2', { replyTo: 'mine' });
    const foreign = { id: 'r2-1', data: JSON.stringify({ ...rest, version }) };
    const named = jobOf('r"3', 'mine');
    const jobs = [jobOf('r1', 'away'), foreign, named, jobOf('r4', 'mine')];
    expect(await claim(connect(), jobs)).toEqual([false, false, false, true]);
    await until(() => mine.length === 1);
    expect(mine).toEqual([told({ requestId: 'r4', attempt: 1 })]);
  });

  it('loses no job where its user may not publish', async () => {
    await listen('mine');
    await connect().call('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', 'resetchannels', '+@all');
    const mute = connect('', { username: 'mute', password: 'secret' });
    expect(await claim(mute, [jobOf('r1', 'mine')])).toEqual([false]);
  });

  it('is heard in its own database alone', async () => {
    const [here, there] = [await listen('mine', '/3'), await listen('mine')];
    expect(await claim(connect('/3'), [jobOf('r1', 'mine')])).toEqual([true]);
    await until(() => here.length === 1);
    expect(there).toEqual([]);
  });
});
