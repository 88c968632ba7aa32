import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formats } from '../../support/call.ts';
import { Installation } from '../installation/installation.ts';
import { streamThroughSdk } from './sdk-stream.ts';

let installation: Installation;
let slotsOfAll: number | undefined;
const slots = () => installation.ingresses[0]?.metric('sluice_pool_slots');
beforeAll(async () => {
  installation = await Installation.start({ ingresses: 1, workers: 2, tenants: 1 });
  slotsOfAll = await slots();
});
afterAll(() => installation.stop());
beforeEach(async () => {
  // The one that was killed before may take long to start again, and one must be there when the other is killed.
  await until(async () => (await slots()) === slotsOfAll, {
    timeoutMs: 50_000,
    what: 'both workers to serve',
  });
});

const tokens = 150;

describe('kill -9 of a worker in the middle of a stream is invisible to the official SDK:', () => {
  it.each(formats)('%s', async (format) => {
    const [ingress] = installation.ingresses;
    const streams = Array.from({ length: 6 }, (_, seed) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const ended = streamThroughSdk(format, {
        port: ingress?.clientProxy?.port ?? 0,
        apiKey: installation.apiKeys.get('tenant-0') ?? '',
        prompt: `[[sim tokens=${tokens} ttft=0 gap=20ms seed=${seed}]]`,
        onText: resolve,
      });
      return { began: promise, ended };
    });
    await Promise.all(streams.map(({ began }) => began));
    const before = (await ingress?.metric('sluice_attempts_total')) ?? 0;
    // Nobody can choose which worker gets the jobs.
    const busy = await installation.busiestWorker();
    for (const pid of busy.workerPids()) process.kill(pid, 'SIGKILL');
    const answers = await Promise.all(streams.map(({ ended }) => ended));
    for (const [seed, answer] of answers.entries()) {
      expect(answer).toEqual({ text: referenceText(seed, 0, tokens), outputTokens: tokens, finishes: 1 });
    }
    expect(await ingress?.metric('sluice_attempts_total')).toBeGreaterThan(before);
  });
});
