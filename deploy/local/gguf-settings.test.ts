import { resolve } from 'node:path';
import { parseCatalog } from '@sluice/catalog';
import { expect, it } from 'vitest';
import { createGgufSettings } from './gguf-settings.ts';

it('serves a model file under its own name beside the simulated model', () => {
  const catalog = parseCatalog(createGgufSettings('models/Qwen3-0.6B-Q8_0.gguf'));
  expect([...catalog.models.keys()].sort()).toEqual(['Qwen3-0.6B-Q8_0', 'sim']);
  expect(catalog.resolve('Qwen3-0.6B-Q8_0')?.pool).toBe('embedded');
  expect(catalog.pools.get('embedded')?.backend).toEqual({
    engine: 'llama-cpp',
    modelPath: resolve('models/Qwen3-0.6B-Q8_0.gguf'),
  });
});

it.each([
  ['my model (1).GGUF', 'my-model-(1)'],
  ['100*.gguf', '100-'],
  ['sim.gguf', 'sim-gguf'],
  ['.gguf', 'model'],
  ['model.bin', 'model.bin'],
])('serves %j as %j, a name that a request can say and no other model has', (file, name) => {
  const catalog = parseCatalog(createGgufSettings(`models/${file}`));
  expect(catalog.resolve(name)?.pool).toBe('embedded');
  expect(catalog.resolve('sim')?.pool).not.toBe('embedded');
});
