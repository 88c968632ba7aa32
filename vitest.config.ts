import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

interface Unit {
  globalSetup?: string[];
  /** False where all is a function of its arguments: files then share processes, and what these have imported. */
  isolate?: boolean;
}

// Generous on purpose: a loaded machine is slow, and no test of ours is about time.
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 10_000 } } };

const unit = (folder: string, { globalSetup = [], isolate = true }: Unit = {}) => ({
  test: {
    globalSetup,
    isolate,
    name: `@sluice/${folder.split('/')[1]}`,
    root: folder,
    include: ['src/**/*.test.ts', '*.test.ts'],
    ...patience,
  },
});

export default defineConfig({
  test: {
    // Vitest would leave one core to itself. Long files mostly wait, and two at a time would leave cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // Of the hundreds of processes that test or are tested, only the first compile what they all run.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node-compile') },
    projects: [
      ...['canonical', 'catalog', 'formats'].map((lib) => unit(`libs/${lib}`, { isolate: false })),
      ...['runtime', 'http', 'transport', 'tenancy', 'admission', 'testing'].map((lib) =>
        unit(`libs/${lib}`),
      ),
      unit('libs/engines', { globalSetup: ['src/llama-cpp/test-setup.ts'] }),
      ...['ingress', 'worker', 'cli', 'loadtest'].map((app) => unit(`apps/${app}`)),
      ...['local', 'redis', 'grafana', 'kubernetes', 'docs'].map((part) => unit(`deploy/${part}`)),
      {
        test: {
          name: '@sluice/test',
          root: 'test',
          include: ['**/*.test.ts'],
          ...patience,
          // After the others: each of these files starts several processes.
          sequence: { groupOrder: 1 },
          // On a given Redis, whatever the database, every gateway hears what the others publish.
          fileParallelism: !process.env.REDIS_URL,
        },
      },
    ],
  },
});
