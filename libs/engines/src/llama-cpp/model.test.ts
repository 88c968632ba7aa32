import { truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { story, TestModels } from './test-models.ts';

const models = new TestModels();

// Must be the first load in its process: llama.cpp writes the reasons of a second failure to the console.
it('says that a file is cut off, as after an interrupted download', async () => {
  const modelPath = models.write(story);
  truncateSync(modelPath, 2_000_000);
  await expect(models.create({ modelPath }).start(new AbortController().signal)).rejects.toThrow(
    /the model .* does not load: .*is corrupted or incomplete/,
  );
});
