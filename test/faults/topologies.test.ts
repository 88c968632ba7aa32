import { referenceText } from '@sluice/engines';
import { startCluster, startSentinel, type Topology, until } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let topology: Topology | undefined;
let gateway: Gateway | undefined;
afterEach(async () => {
  await gateway?.stop();
  await topology?.stop();
});

const tokens = 100;
/** A sentinel that was short of time refuses to act for half a minute. */
const patienceMs = 90_000;
const testLimitMs = 240_000;

async function startOver(started: Topology): Promise<Gateway> {
  topology = started;
  const [first] = started.nodes;
  if (!first) throw new TypeError('a topology has nodes');
  const { port, prefix, stop } = first;
  const redis = { url: started.url, port, prefix, stop, [Symbol.asyncDispose]: stop };
  gateway = await startGateway({ workers: 2, redis });
  return gateway;
}

type Seeded = Answer & { seed: number };

/** Streams of every format; resolves when each has shown some text. */
async function openStreams({ baseUrl, apiKey }: Gateway): Promise<{ ended: Promise<Seeded[]> }> {
  const began: Promise<void>[] = [];
  const ended = Promise.all(
    Array.from({ length: 18 }, (_, seed) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      began.push(promise);
      const prompt = `[[sim tokens=${tokens} ttft=0 gap=25ms seed=${seed}]]`;
      const onText = (text: string) => text !== '' && resolve();
      const format = formats[seed % 3] ?? 'openai';
      return call({ baseUrl, apiKey, format, prompt, stream: true, onText }).then((answer) => ({
        ...answer,
        seed,
      }));
    }),
  );
  await Promise.all(began);
  return { ended };
}

function expectWhole(answers: readonly Seeded[]): void {
  const broken = answers.filter(
    ({ isComplete, text, seed }) => !isComplete || text !== referenceText(seed, 0, tokens),
  );
  expect(broken).toEqual([]);
}

/** New requests are served again, with the keys that were minted before. */
async function expectService({ baseUrl, apiKey }: Gateway): Promise<void> {
  await until(
    async () => {
      const prompt = '[[sim tokens=3 seed=1]]';
      const answer = await call({ baseUrl, apiKey, format: 'openai', prompt, stream: false });
      return answer.text === referenceText(1, 0, 3);
    },
    { timeoutMs: patienceMs, what: 'a new request to be served' },
  );
}

describe('a gateway on a Redis with sentinels', () => {
  it(
    'carries its streams over a failover and serves on',
    async () => {
      const sentinel = await startSentinel();
      const running = await startOver(sentinel);
      const { ended } = await openStreams(running);
      await sentinel.nodes[0]?.down();
      expectWhole(await ended);
      await expectService(running);
    },
    testLimitMs,
  );
});

describe('a gateway on a Redis Cluster', () => {
  it(
    'carries its streams over the death of a worker',
    async () => {
      const running = await startOver(await startCluster());
      const { ended } = await openStreams(running);
      process.kill(running.workers[0]?.ready.workers?.[0]?.pid ?? 0, 'SIGKILL');
      expectWhole(await ended);
      await expectService(running);
    },
    testLimitMs,
  );

  it(
    'carries its streams over a restart of every master with its data',
    async () => {
      const cluster = await startCluster();
      const running = await startOver(cluster);
      for (const node of cluster.nodes) {
        const { ended } = await openStreams(running);
        await node.restart({ keepData: true });
        expectWhole(await ended);
        await expectService(running);
      }
    },
    testLimitMs,
  );
});
