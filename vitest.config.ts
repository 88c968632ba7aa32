import { defineConfig } from 'vitest/config';

// Generous on purpose: a loaded machine is slow, and no test of ours is about time.
const unit = (folder: string, globalSetup: string[] = []) => ({
  test: {
    globalSetup,
    name: `@sluice/${folder.split('/')[1]}`,
    root: folder,
    include: ['src/**/*.test.ts', '*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});

export default defineConfig({
  test: {
    projects: [
      ...[
        'canonical',
        'runtime',
        'catalog',
        'http',
        'formats',
        'transport',
        'tenancy',
        'admission',
        'testing',
      ].map((lib) => unit(`libs/${lib}`)),
      unit('libs/engines', ['src/llama-cpp/test-setup.ts']),
      ...['ingress', 'worker', 'cli', 'loadtest'].map((app) => unit(`apps/${app}`)),
      ...['local', 'redis', 'grafana', 'kubernetes', 'docs'].map((part) => unit(`deploy/${part}`)),
      {
        test: {
          name: '@sluice/test',
          root: 'test',
          include: ['**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
