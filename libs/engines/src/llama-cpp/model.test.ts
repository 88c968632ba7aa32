import { truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { story, TestModels } from './test-models.ts';

const models = new TestModels();

// The first of its process: llama.cpp tells the reasons of a second load to the console.
it('says that a file is cut off, as after a download that broke', async () => {
  const modelPath = models.write(story);
  truncateSync(modelPath, 2_000_000);
  await expect(models.create({ modelPath }).start(new AbortController().signal)).rejects.toThrow(
    /the model .* does not load: .*is corrupted or incomplete/,
  );
});
