import { ask, startCluster, until } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { formats } from '../support/call.ts';
import { isComplete } from './checker/check-answers.ts';
import { describeEnding } from './checker/endings.ts';
import {
  entranceOf,
  type Failover,
  servedAfter,
  startClusterBench,
  startGatewayOn,
  startSentinelBench,
} from './failover.ts';
import { type Entrance, openStreams, plainPlan } from './figures/scenario.ts';
import type { Observation } from './observation.ts';
import { expectedText } from './plan.ts';

/** What was started; it is disposed of in reverse order. */
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
}, 60_000);

const streams = 18;
const testLimitMs = 240_000;

/** Streams of every format that have begun. */
function openMany(entrance: Entrance): Promise<{ ended: Promise<Observation[]> }> {
  const plans = Array.from({ length: streams }, (_, index) =>
    plainPlan(index, { format: formats[index % 3] ?? 'openai', tokens: 100, gapMs: 25 }),
  );
  return openStreams(entrance, plans);
}

/** What a failing test shows: how the incomplete answers ended. */
function brokenOf(observations: readonly Observation[]): string[] {
  return observations
    .filter((each) => !isComplete(each) || each.answer.text !== expectedText(each.plan))
    .map((each) => `${each.plan.index}: ${describeEnding(each)}`);
}

/** A gateway on a Cluster without replicas. Both end with the test. */
async function startOnCluster() {
  const cluster = await startCluster();
  stack.defer(() => cluster.stop());
  const gateway = await startGatewayOn(cluster);
  stack.defer(() => gateway.stop());
  return { cluster, gateway };
}

/** The channels that anybody listens to at a server of a Cluster. */
async function channelsAt({ port }: { port: number }): Promise<string[]> {
  return JSON.parse(await ask(port, 'PUBSUB', 'SHARDCHANNELS'));
}

function expectWhole({ streams: observed }: Failover): void {
  expect(brokenOf(observed)).toEqual([]);
  expect(observed).toHaveLength(streams);
}

describe('a gateway on a Redis with sentinels', () => {
  it('keeps its streams through a failover and serves on', { timeout: testLimitMs }, async () => {
    const bench = await startSentinelBench({ downAfterMs: 5_000 });
    stack.defer(() => bench.stop());
    expectWhole(await bench.failOver(streams));
  });
});

describe('a gateway on a Redis Cluster', () => {
  it('keeps its streams through the death of any master and serves on', {
    timeout: testLimitMs,
  }, async () => {
    const bench = await startClusterBench();
    stack.defer(() => bench.stop());
    for (let shard = 0; shard < 3; shard += 1) expectWhole(await bench.failOver(streams));
  });

  it('keeps its streams through the death of a worker', { timeout: testLimitMs }, async () => {
    const { gateway } = await startOnCluster();
    const { ended } = await openMany(entranceOf(gateway));
    const { pid, generations } = await gateway.busiestWorker();
    expect(generations).toBeGreaterThan(0);
    process.kill(pid, 'SIGKILL');
    expect(brokenOf(await ended)).toEqual([]);
    await servedAfter(entranceOf(gateway));
  });

  it('takes no worker for lost while a master makes writers wait', {
    timeout: testLimitMs,
  }, async () => {
    const { cluster, gateway } = await startOnCluster();
    for (const node of cluster.nodes) {
      const { ended } = await openMany(entranceOf(gateway));
      // Longer than a worker may be silent. The master answers pings meanwhile, and the pause ends by itself.
      await ask(node.port, 'CLIENT', 'PAUSE', '5000', 'WRITE');
      expect(brokenOf(await ended)).toEqual([]);
      // One that carries no replies may still be at it.
      await ask(node.port, 'CLIENT', 'UNPAUSE');
      await servedAfter(entranceOf(gateway));
    }
    const told = gateway.ingresses.flatMap(({ lines }) => lines);
    expect(told.filter((line) => line.includes('worker lost'))).toEqual([]);
  });

  it('has its ingresses ready that hear replies while the presence of workers has lost its master', {
    timeout: testLimitMs,
  }, async () => {
    const { cluster, gateway } = await startOnCluster();
    const heardAt = () => Promise.all(cluster.nodes.map(channelsAt));
    const homeOf = (lists: readonly string[][]) => lists.findIndex((list) => list.includes('sluice:workers'));
    const countOthers = (lists: readonly string[][]): number =>
      lists
        .toSpliced(homeOf(lists), 1)
        .flat()
        .filter((channel) => channel.startsWith('sluice:reply:')).length;
    // The id of an ingress decides which master carries its replies.
    let lists = await heardAt();
    for (; countOthers(lists) === 0; lists = await heardAt()) await gateway.startIngress();
    await cluster.nodes[homeOf(lists)]?.down();
    await until(async () => (await gateway.metric('sluice_redis_up')) === 0, {
      what: 'the loss to be noticed',
    });
    const readies = async (): Promise<number> => {
      const urls = gateway.ingresses.map(({ ready }) => `http://127.0.0.1:${ready.port}/readyz`);
      const answers = await Promise.all(urls.map((url) => fetch(url)));
      return answers.filter(({ ok }) => ok).length;
    };
    await until(async () => (await readies()) === countOthers(lists), { what: 'them to be ready' });
  });

  it('keeps its streams through a restart of every master with its data', {
    timeout: testLimitMs,
  }, async () => {
    const { cluster, gateway } = await startOnCluster();
    for (const node of cluster.nodes) {
      const { ended } = await openMany(entranceOf(gateway));
      await node.restart({ keepData: true });
      expect(brokenOf(await ended)).toEqual([]);
      await servedAfter(entranceOf(gateway));
    }
  });
});
