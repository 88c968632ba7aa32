import { defineConfig } from 'vitest/config';

/** The tests of the codecs that answer fast: what runs every golden case at once would decide every mutant slowly. */
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    exclude: [
      'src/matrix/**',
      'src/corpus/**',
      'src/compatibility/**',
      'src/mutation/**',
      'src/document.test.ts',
    ],
    setupFiles: ['mutation/setup.test.ts'],
  },
});
