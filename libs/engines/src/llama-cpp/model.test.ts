import { truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { story, TestModels } from './test-models.ts';

const models = new TestModels();

it('says that a file is cut off, as after an interrupted download, also when it is tried again', async () => {
  const modelPath = models.write(story);
  truncateSync(modelPath, 2_000_000);
  const engine = models.create({ modelPath });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(engine.start(new AbortController().signal)).rejects.toThrow(
      /the model .* does not load: .*is corrupted or incomplete/,
    );
  }
});

it('says so beside a model that another pool evaluates, which goes on', async () => {
  const modelPath = models.write(story);
  truncateSync(modelPath, 2_000_000);
  const [other, refused] = await Promise.allSettled([
    models.start(story),
    models.create({ modelPath }).start(new AbortController().signal),
  ]);
  expect(refused).toMatchObject({ reason: { message: expect.stringContaining('corrupted or incomplete') } });
  expect(other).toMatchObject({ status: 'fulfilled' });
  if (other.status === 'fulfilled') expect(other.value.isReady()).toBe(true);
});
