import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const file = new URL('./heap-limit.ts', import.meta.url).href;
const megabytes = (...flags: string[]): number => {
  const script = 'console.log((await import(process.argv[1])).heapLimitBytes() / 2 ** 20)';
  return Number(
    execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script, file]).toString(),
  );
};

it.each([64, 128, 512])('a heap of %d MB is what its flag says', (size) => {
  expect(megabytes(`--max-old-space-size=${size}`)).toBe(size);
});

it('a smaller young generation, as that of Node 20, still leaves room for prompts', () => {
  expect(megabytes('--max-old-space-size=128', '--max-semi-space-size=16')).toBeGreaterThan(32);
});
