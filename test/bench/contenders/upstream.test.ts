import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startUpstream } from './upstream.ts';

test('a fake upstream whose port is taken ends the benchmark with a sentence', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await expect(startUpstream(port)).rejects.toThrow('the fake upstream did not start');
});
