import { startRedis, type TestRedis } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApp } from './test-app.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.stop());

const settings = {
  pools: { chat: { backend: { engine: 'simulated' } } },
  models: { small: { pool: 'chat' }, large: { pool: 'chat' } },
};

it.each([
  ['openai', '/v1/models', {}],
  ['anthropic', '/v1/models', { 'anthropic-version': '2023-06-01' }],
  ['gemini', '/v1beta/models', {}],
])('the list of %s shows a key only the models that it may use', async (_format, path, headers) => {
  await using app = await openTestApp(redis.url, { settings, models: ['small'] });
  const listed = await (await app.call(path, { headers })).text();
  expect(listed).toContain('small');
  expect(listed).not.toContain('large');
  expect((await app.call(`${path}/small`, { headers })).status).toBe(200);
  expect((await app.call(`${path}/large`, { headers })).status).toBe(403);
});
