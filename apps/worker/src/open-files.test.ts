import { expect, it } from 'vitest';
import { lacksFiles } from './open-files.ts';

it('a worker needs files for the connections of all its engines, and some for itself', () => {
  const engines = [{ mostFiles: 100 }, { mostFiles: 36 }, {}].map((engine) => ({ engine }));
  expect(lacksFiles(engines, 199)).toBe(true);
  expect(lacksFiles(engines, 200)).toBe(false);
  expect(lacksFiles([{ engine: {} }], 64)).toBe(false);
});

it('a worker without a limit of open files lacks none', () => {
  expect(lacksFiles([{ engine: { mostFiles: 1_000_000 } }], undefined)).toBe(false);
});
