import { referenceText } from '@sluice/engines';
import { ask, type OwnTestRedis, startOwnRedis, type TestProcess, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let redis: OwnTestRedis;
let gateway: Gateway;
beforeAll(async () => {
  redis = await startOwnRedis();
  gateway = await startGateway({
    ingresses: 2,
    workers: 2,
    redis,
    environment: { SLUICE_DRAIN_LIMIT_MS: '500' },
  });
});
afterAll(async () => {
  await gateway.stop();
  await redis.stop();
});

const tokens = 120;

/** Starts streams of every format and waits until each of them has shown some text. */
async function openStreams(count: number): Promise<{ ended: Promise<(Answer & { seed: number })[]> }> {
  // The previous test's fault in Redis may not be over. A request would be refused then, which is not what is tested
  // here.
  for (const url of gateway.baseUrls) {
    await until(async () => (await fetch(`${url}/readyz`)).ok, { what: 'the ingress to be ready' });
  }
  const began: Promise<void>[] = [];
  const ended = Promise.all(
    Array.from({ length: count }, (_, seed) => {
      let begin: () => void = () => undefined;
      began.push(
        new Promise((resolve) => {
          begin = resolve;
        }),
      );
      return call({
        baseUrl: gateway.baseUrls[seed % 2] ?? '',
        apiKey: gateway.apiKey,
        format: formats[seed % 3] ?? 'openai',
        prompt: `[[sim tokens=${tokens} ttft=0 gap=25ms seed=${seed}]]`,
        stream: true,
        onText: (text) => text !== '' && begin(),
      }).then((answer) => ({ ...answer, seed }));
    }),
  );
  // A refused stream never begins; `ended` then shows what became of it.
  await Promise.race([Promise.all(began), ended]);
  return { ended };
}

function expectWhole(answers: (Answer & { seed: number })[]): void {
  const broken = answers.filter(
    (answer) => !answer.isComplete || answer.text !== referenceText(answer.seed, 0, tokens) || answer.error,
  );
  expect(broken).toEqual([]);
}

test('streams go on without a seam when a worker process is killed', async () => {
  const { ended } = await openStreams(30);
  const { pid, generations } = await gateway.busiestWorker();
  expect(generations).toBeGreaterThan(0);
  process.kill(pid, 'SIGKILL');
  expectWhole(await ended);
  expect(await gateway.metric('sluice_attempts_total', { reason: 'exited' })).toBeGreaterThan(0);
  const lost = { level: 'warn', msg: 'worker lost', reason: 'exited' };
  expect(told()).toEqual(gateway.ingresses.map(() => lost));
});

test('streams go on without a seam when a worker drains at a limit that they exceed', async () => {
  await until(async () => (await gateway.metric('sluice_pool_slots')) === 2 * 2 * 256);
  await gateway.startWorker();
  await until(async () => (await gateway.metric('sluice_pool_slots')) === 2 * 3 * 256);
  const { ended } = await openStreams(30);
  const { supervisor, generations } = await gateway.busiestWorker();
  expect(generations).toBeGreaterThan(0);
  const toldBefore = told().length;
  await supervisor.stop();
  expectWhole(await ended);
  expect(await gateway.metric('sluice_attempts_total', { reason: 'drained' })).toBeGreaterThan(0);
  // A worker that was asked to stop is no failure, so its end is logged as information.
  await until(() => told().length === toldBefore + 4, { what: 'both ingresses to tell of both' });
  expect(told().filter(({ level }) => level === 'info')).toEqual(
    gateway.ingresses.flatMap(() => [
      { level: 'info', msg: 'worker drains' },
      { level: 'info', msg: 'worker has left' },
    ]),
  );
});

test('streams go on without a seam when every subscription is cut again and again', async () => {
  const { ended } = await openStreams(20);
  const operator = new Redis(redis.url);
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await operator.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const isBack = async () =>
      (await operator.pubsub('CHANNELS', 'sluice:reply:*')).length >= gateway.ingresses.length;
    await Promise.race([over, until(isBack)]);
  }
  operator.disconnect();
  expectWhole(await ended);
});

test('no worker is taken for lost while Redis is frozen', async () => {
  const lost = () => gateway.metric('sluice_attempts_total', { reason: 'silent' });
  const lostBefore = await lost();
  const { ended } = await openStreams(20);
  const notices = () => countLines(gateway.ingresses, 'redis said nothing for 3000 ms');
  const noticedBefore = notices();
  redis.suspend();
  // Later than the silence of a worker counts as its loss.
  await until(() => notices() > noticedBefore, { what: 'an ingress to give its subscription up' });
  redis.resume();
  expectWhole(await ended);
  expect(await lost()).toBe(lostBefore);
});

test('no worker is taken for lost while Redis makes writers wait', async () => {
  const lost = () => gateway.metric('sluice_attempts_total', { reason: 'silent' });
  const lostBefore = await lost();
  const { ended } = await openStreams(20);
  const timeOuts = () => countLines(gateway.workers, 'Socket timeout');
  const timeOutsBefore = timeOuts();
  // As a managed failover begins: pings are answered, and messages wait.
  await ask(redis.port, 'CLIENT', 'PAUSE', '60000', 'WRITE');
  // Later than the silence of a worker counts as its loss, too.
  await until(() => timeOuts() > timeOutsBefore, { what: 'a worker to give its connection up' });
  await ask(redis.port, 'CLIENT', 'UNPAUSE');
  expectWhole(await ended);
  expect(await lost()).toBe(lostBefore);
});

test('streams go on without a seam when Redis restarts empty', async () => {
  const { ended } = await openStreams(20);
  await redis.restart();
  expectWhole(await ended);
});

/** The ingresses' log lines about workers that left. */
function told() {
  const lines = gateway.ingresses
    .flatMap((ingress) => ingress.lines)
    .filter((line) => / (lost|drains|has left)"/.test(line));
  return lines.map((line) => {
    const { level, msg, reason } = JSON.parse(line) as Record<string, string>;
    return { level, msg, reason };
  });
}

function countLines(processes: readonly TestProcess[], words: string): number {
  return processes.flatMap(({ lines }) => lines).filter((line) => line.includes(words)).length;
}
