import { describe, expect, it } from 'vitest';
import { Suspicion } from './suspicion.ts';

type Loss =
  | 'dead before a word'
  | 'dead midway'
  | 'silent before a word'
  | 'silent midway'
  | 'silent before a word, and heard again'
  | 'silent midway, and heard again'
  | 'unclaimed when one died';

/** After how many of these losses the request is poison; absent: after none of them. */
function poisonAfter(...losses: readonly Loss[]): number | undefined {
  const suspicion = new Suspicion();
  for (const [index, loss] of losses.entries()) {
    const worker = `w${index}`;
    suspicion.add(reasonOf(loss), loss.includes('midway'), worker);
    if (suspicion.isPoison) return index + 1;
    if (loss.endsWith('heard again')) suspicion.heardAgain(worker);
  }
  return undefined;
}

function reasonOf(loss: Loss): 'exited' | 'silent' | 'unclaimed' {
  if (loss === 'unclaimed when one died') return 'unclaimed';
  return loss.startsWith('dead') ? 'exited' : 'silent';
}

describe('a request is poison', () => {
  it('when two workers died before it said anything', () => {
    expect(poisonAfter('dead before a word', 'dead before a word')).toBe(2);
  });

  it.each<Loss[][]>([
    [['dead midway', 'dead before a word', 'dead before a word']],
    [['dead midway', 'dead midway', 'dead before a word']],
    [['dead midway', 'dead midway', 'dead midway']],
    [['dead before a word', 'dead midway', 'dead midway']],
  ])('when a third worker died, however far it had come: %j', (losses) => {
    expect(poisonAfter(...losses)).toBe(3);
  });

  it('when a third worker died that may have had its job and could not say so', () => {
    const unclaimed = 'unclaimed when one died';
    expect(poisonAfter(unclaimed, unclaimed, unclaimed)).toBe(3);
    expect(poisonAfter(unclaimed, 'dead before a word', unclaimed)).toBe(3);
  });

  it('when three workers fell silent before it said anything', () => {
    expect(poisonAfter('silent before a word', 'silent before a word', 'silent before a word')).toBe(3);
  });

  it('when workers fell silent before it said anything, one after another, though all of them live', () => {
    expect(poisonAfter(...Array<Loss>(7).fill('silent before a word, and heard again'))).toBe(5);
  });
});

describe('a worker that is heard again after its silence', () => {
  it('counts for less, and so the third silence of the only worker does not end what waits for it', () => {
    const back = 'silent before a word, and heard again';
    expect(poisonAfter(back, back, 'silent before a word')).toBeUndefined();
    expect(poisonAfter('silent before a word', back, 'silent before a word')).toBeUndefined();
    expect(poisonAfter('dead before a word', back, 'silent before a word')).toBe(3);
  });

  it('is not counted for less than nothing', () => {
    const suspicion = new Suspicion();
    suspicion.add('exited', false, 'w1');
    for (let times = 0; times < 3; times += 1) suspicion.heardAgain('w1');
    suspicion.add('silent', true, 'w2');
    suspicion.heardAgain('w2');
    suspicion.add('silent', false, 'w2');
    for (let times = 0; times < 3; times += 1) suspicion.heardAgain('w2');
    expect(suspicion.isPoison).toBe(false);
    suspicion.add('silent', false, 'w2');
    expect(suspicion.isPoison).toBe(true);
  });
});

describe('a bystander goes on', () => {
  it('after a neighbour took down its worker and the next one, where it had no time to say anything', () => {
    expect(poisonAfter('dead midway', 'dead before a word')).toBeUndefined();
    expect(poisonAfter('dead before a word', 'dead midway')).toBeUndefined();
  });

  it('after a death and an outage of the network', () => {
    expect(poisonAfter('dead before a word', 'silent before a word')).toBeUndefined();
  });

  it('through any number of outages in which its answer had got on', () => {
    expect(poisonAfter(...Array<Loss>(7).fill('silent midway'))).toBeUndefined();
  });
});
