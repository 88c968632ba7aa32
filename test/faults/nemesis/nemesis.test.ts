import { expect, it } from 'vitest';
import type { Installation } from '../installation/installation.ts';
import { createRandom } from '../random.ts';
import { Nemesis } from './nemesis.ts';

it('a fault that cannot be undone is told when the nemesis is stopped, and ends nothing before', async () => {
  const stuck = { name: 'stuck', target: () => 'all', inflict: () => Promise.reject(new Error('stuck')) };
  // Safe to cast: this fault touches nothing of it.
  const nemesis = new Nemesis({ installation: {} as Installation, random: createRandom(1), kinds: [stuck] });
  nemesis.start();
  await new Promise(setImmediate);
  expect(nemesis.isDone).toBe(true);
  await expect(nemesis.stop()).rejects.toThrow('stuck');
});
