import { parseCatalog } from '@sluice/catalog';
import { findFreePort, startChatServer } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { createUpstreamSettings } from './upstream-settings.ts';

describe('createUpstreamSettings', () => {
  it("serves the upstream's models beside the simulated one", async () => {
    await using upstream = await startChatServer({ models: ['llama3:8b', 'org/model'] });
    const catalog = parseCatalog(await createUpstreamSettings(upstream.baseUrl, undefined));
    expect([...catalog.models.keys()].sort()).toEqual(['llama3:8b', 'org/model', 'sim']);
    expect(catalog.resolve('llama3:8b')?.pool).toBe('upstream');
    expect(catalog.resolve('gpt-anything')?.pool).toBe('sim');
    expect(catalog.pools.get('upstream')?.backend).toMatchObject({ baseUrl: upstream.baseUrl });
  });

  it('prefers the model of the upstream to an alias of its name', async () => {
    await using upstream = await startChatServer({ models: ['gpt-oss-20b'] });
    const catalog = parseCatalog(await createUpstreamSettings(upstream.baseUrl, undefined));
    expect(catalog.resolve('gpt-oss-20b')?.pool).toBe('upstream');
  });

  it("takes over the context that vLLM's list tells, and llama.cpp's", async () => {
    await using upstream = await startChatServer({
      models: [
        { id: 'vllm', max_model_len: 2048 },
        { id: 'llama-cpp', meta: { n_ctx: 4096, n_ctx_train: 131_072 } },
        { id: 'ollama' },
        { id: 'odd', max_model_len: 'long', meta: 'none' },
      ],
    });
    const { models } = parseCatalog(await createUpstreamSettings(upstream.baseUrl, undefined));
    const contexts = ['vllm', 'llama-cpp', 'ollama', 'odd'].map((name) => models.get(name)?.contextTokens);
    expect(contexts).toEqual([2048, 4096, undefined, undefined]);
  });

  it('leaves out what can be no name of a model, and says so', async () => {
    await using upstream = await startChatServer({ models: ['good', 'all-*', ' '] });
    const said: string[] = [];
    const settings = await createUpstreamSettings(upstream.baseUrl, undefined, (line) => said.push(line));
    expect([...parseCatalog(settings).models.keys()].sort()).toEqual(['good', 'sim']);
    expect(said).toEqual([
      'the upstream\'s models "all-*", " " are left out: no model can have such a name here',
    ]);
  });

  it('says in one sentence that the upstream does not answer', async () => {
    const address = `http://127.0.0.1:${await findFreePort()}/v1`;
    const asked = createUpstreamSettings(address, 'secret');
    await expect(asked).rejects.toThrow(`the upstream does not answer at ${address}/models`);
  });

  it('says in one sentence that the upstream gives no list', async () => {
    await using upstream = await startChatServer({ models: [] });
    await expect(createUpstreamSettings(upstream.baseUrl, undefined)).rejects.toThrow(
      /gives no list of models/,
    );
  });
});
