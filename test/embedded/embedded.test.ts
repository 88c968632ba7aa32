import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endOfTurn, findLlamaPackage, until, writeTinyModel } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { streamThroughSdk } from '../faults/clients/sdk-stream.ts';
import { formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'));
const words = Array.from({ length: 230 }, (_value, index) => `${index === 0 ? '' : ' '}word${index}`);
const installMs = 300_000;
let gateway: Gateway;

beforeAll(async () => {
  const modelPath = join(folder, 'model.gguf');
  writeTinyModel(modelPath, [...words, endOfTurn]);
  const backend = {
    ...{ engine: 'llama-cpp', modelPath, slots: 2, contextTokens: 1024 },
    ...{ gpu: 'none', threads: 1, sampling: { temperature: 0 } },
  };
  gateway = await startGateway({
    workers: 2,
    settings: { pools: { embedded: { backend } }, models: { sim: { pool: 'embedded' } } },
    environment: { NODE_OPTIONS: `--import=${redirect('node-llama-cpp', await findLlamaPackage())}` },
  });
}, installMs);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  // The one that was killed before may take long to start again, and one must be there when the other is killed.
  const slots = () => gateway.metric('sluice_pool_slots');
  await until(async () => (await slots()) === 2 * 2, { timeoutMs: 50_000, what: 'both workers to serve' });
});

/** A module hook that resolves this name to another module, in place of a package that users would install. */
function redirect(name: string, url: string): string {
  const found = JSON.stringify({ url, shortCircuit: true });
  const code = `import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => (name === '${name}' ? ${found} : next(name, context)) });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

describe('a model in the worker, asked through the official SDK, while its worker is killed:', () => {
  it.each(formats)('%s', async (format) => {
    const before = await gateway.metric('sluice_attempts_total');
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    // More streams than slots: some are in the middle, the others wait.
    const streams = Array.from({ length: 7 }, () =>
      streamThroughSdk(format, {
        port: Number(new URL(gateway.baseUrl).port),
        apiKey: gateway.apiKey,
        prompt: 'Count your words.',
        onText: begin,
      }),
    );
    await began;
    process.kill((await gateway.workerAtWork()).pid, 'SIGKILL');
    for (const answer of await Promise.all(streams)) {
      expect(answer).toEqual({ text: words.join(''), outputTokens: words.length, finishes: 1 });
    }
    expect(await gateway.metric('sluice_attempts_total')).toBeGreaterThan(before);
  });
});
