import { expect, it } from 'vitest';
import { afterTurn } from './after-turn.ts';

it('what is to run after a turn runs in order, and before any promise that it settles', async () => {
  const seen: string[] = [];
  await new Promise<void>((resolve) => {
    for (const name of ['first', 'second']) {
      afterTurn(() => {
        seen.push(name);
        void Promise.resolve().then(() => seen.push(`${name} settled`));
        if (name === 'first') afterTurn(() => resolve());
      });
    }
    seen.push('turn');
  });
  expect(seen).toEqual(['turn', 'first', 'second', 'first settled', 'second settled']);
});
