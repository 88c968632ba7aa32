import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createMetricSet, durations, gauge, renderMetrics } from './metric-set.ts';

const definitions = {
  level: gauge('sluice_level', 'A level', {}),
  wait: durations('sluice_wait_seconds', 'A wait', {}, [1, 10]),
};

async function linesOf(registry: Registry): Promise<string[]> {
  const { body } = await renderMetrics(registry);
  return body.split('\n').filter((line) => line.startsWith('sluice_'));
}

it('metrics without labels are there from the start, and print none', async () => {
  const { registry } = createMetricSet(definitions, new Registry());
  expect(await linesOf(registry)).toEqual([
    'sluice_level 0',
    'sluice_wait_seconds_bucket{le="0.001"} 0',
    'sluice_wait_seconds_bucket{le="0.01"} 0',
    'sluice_wait_seconds_bucket{le="+Inf"} 0',
    'sluice_wait_seconds_sum 0',
    'sluice_wait_seconds_count 0',
  ]);
});

it('metrics without labels are set, moved and observed', async () => {
  const { registry, level, wait } = createMetricSet(definitions, new Registry());
  level.set(5);
  level.inc();
  level.inc(3);
  level.dec();
  level.dec(2);
  wait.observe(5);
  wait.child().observe(1_000);
  expect(await linesOf(registry)).toEqual([
    'sluice_level 6',
    'sluice_wait_seconds_bucket{le="0.001"} 0',
    'sluice_wait_seconds_bucket{le="0.01"} 1',
    'sluice_wait_seconds_bucket{le="+Inf"} 2',
    'sluice_wait_seconds_sum 1.005',
    'sluice_wait_seconds_count 2',
  ]);
});

it('others get their turn while the histograms of many models are printed', async () => {
  const models = { wait: durations('sluice_wait_seconds', 'A wait', { model: { from: 'a test' } }, [1, 10]) };
  const { registry, wait } = createMetricSet(models, new Registry());
  for (let index = 0; index < 1_000; index++) wait.observe({ model: `model-${index}` }, 5);
  let turns = 0;
  let isPrinted = false;
  const count = (): void => {
    turns += 1;
    if (!isPrinted) setImmediate(count);
  };
  count();
  const lines = await linesOf(registry);
  isPrinted = true;
  expect(lines).toHaveLength(1_000 * 5);
  expect(lines.at(-1)).toBe('sluice_wait_seconds_count{model="model-999"} 1');
  expect(turns).toBeGreaterThan(10);
});
