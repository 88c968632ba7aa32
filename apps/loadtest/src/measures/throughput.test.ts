import { describe, expect, it } from 'vitest';
import { Throughput } from './throughput.ts';

describe('the throughput of a run', () => {
  it('is what came in its measured part, not what came after its load', () => {
    const throughput = new Throughput(1000, 3000);
    for (const at of [500, 1000, 2000, 2999, 3000, 9000]) {
      throughput.answer(at === 2000, at);
      throughput.token(10, at);
    }
    expect(throughput.done()).toEqual({ ok: 3, good: 1, tokens: 30, ms: 2000 });
  });

  it('counts to the last answer when the load was used up before its time', () => {
    const throughput = new Throughput(1000, 3000);
    throughput.answer(true, 1500);
    throughput.usedUp(2500);
    throughput.answer(true, 4000);
    expect(throughput.done()).toEqual({ ok: 2, good: 2, tokens: 0, ms: 3000 });
  });

  it('is not higher than what was asked for because answers come quicker than requests', () => {
    const throughput = new Throughput(1000, 3000);
    throughput.answer(true, 1500);
    throughput.usedUp(2500);
    expect(throughput.done()).toMatchObject({ ok: 1, ms: 1500 });
  });

  it('ends where the run was ended', () => {
    const throughput = new Throughput(0, 60_000);
    throughput.token(7, 400);
    throughput.stop(500);
    expect(throughput.done()).toMatchObject({ tokens: 7, ms: 500 });
  });

  it('is nothing of a run that ended in its warm-up', () => {
    const throughput = new Throughput(1000, 3000);
    throughput.stop(500);
    expect(throughput.done()).toEqual({ ok: 0, good: 0, tokens: 0, ms: 0 });
  });
});
