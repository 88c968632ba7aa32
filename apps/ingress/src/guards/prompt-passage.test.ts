import { beforeEach, expect, it } from 'vitest';
import { PromptPassage } from './prompt-passage.ts';

let passage: PromptPassage;
let begun: string[];
beforeEach(() => {
  // Room for 100 bytes.
  passage = new PromptPassage(2_500);
  begun = [];
});

/** Sends a prompt that is on its way until `end` or `fail` is called. */
function send(name: string, bytes: number) {
  const { promise, resolve: end, reject: fail } = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const sent = passage.run(bytes, leaving.signal, () => {
    begun.push(name);
    return promise;
  });
  return { sent, end, fail, leave: () => leaving.abort() };
}

it('lets in what there is room for, in the order of arrival', async () => {
  const [first, second] = [send('first', 60), send('second', 60)];
  send('third', 10);
  await Promise.resolve();
  expect(begun).toEqual(['first']);
  first.end();
  await first.sent;
  expect(begun).toEqual(['first', 'second', 'third']);
  second.end();
  await second.sent;
});

it('lets in alone what is larger than all of it', async () => {
  const [small, huge] = [send('small', 1), send('huge', 500)];
  send('next', 1);
  await Promise.resolve();
  expect(begun).toEqual(['small']);
  small.end();
  await small.sent;
  expect(begun).toEqual(['small', 'huge']);
  huge.end();
  await huge.sent;
  expect(begun).toEqual(['small', 'huge', 'next']);
});

it('has its room back after a failure', async () => {
  const [failing, next] = [send('failing', 100), send('next', 100)];
  failing.fail(new Error('away'));
  await expect(failing.sent).rejects.toThrow('away');
  expect(begun).toEqual(['failing', 'next']);
  next.end();
  await next.sent;
});

it('forgets who leaves before its turn, and lets in those behind', async () => {
  const [first, large, small] = [send('first', 60), send('large', 60), send('small', 10)];
  large.leave();
  await large.sent;
  await Promise.resolve();
  expect(begun).toEqual(['first', 'small']);
  first.end();
  small.end();
  await Promise.all([first.sent, small.sent]);
  const all = send('all', 100);
  expect(begun).toEqual(['first', 'small', 'all']);
  // Too late: it is on its way.
  all.leave();
  all.end();
  await all.sent;
});

it('lets in nobody who leaves at the same moment as another, whose leaving makes room', async () => {
  const [first, large, small] = [send('first', 60), send('large', 60), send('small', 10)];
  large.leave();
  small.leave();
  await Promise.all([large.sent, small.sent]);
  expect(begun).toEqual(['first']);
  send('rest', 40);
  expect(begun).toEqual(['first', 'rest']);
  first.end();
  await first.sent;
});
