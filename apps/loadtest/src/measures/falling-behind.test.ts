import { describe, expect, it } from 'vitest';
import { arrivalInstants } from '../arrivals/arrivals.ts';
import { createRandom } from '../random.ts';
import { parseScenario, type Scenario, type ScenarioInput } from '../scenario/scenario.ts';
import { fallingBehind, halfMs } from './falling-behind.ts';
import { Halves } from './halves.ts';
import { emptyTotals } from './recorder.ts';
import type { IntervalResult } from './result.ts';

interface Server {
  /** Absent: serves everything at once. */
  slots?: number;
  /** How long the request with this number takes, in milliseconds. */
  service(at: number): number;
}

const scenario = (rate: number, changes: ScenarioInput = {}) =>
  parseScenario({
    load: { kind: 'open', profile: { kind: 'constant', rate } },
    durationMs: '10s',
    ...changes,
  });

/** What a load would measure of a server with a queue, without waiting for it. */
function measure(asked: Scenario, { slots = Infinity, service }: Server) {
  const { load, durationMs, warmupMs, seed, requests = Infinity } = asked;
  if (load.kind !== 'open') throw new Error('not an open load');
  const halves = new Halves(warmupMs + halfMs(asked));
  const free: number[] = [];
  const times: { dueAt: number; endedAt: number }[] = [];
  for (const dueAt of arrivalInstants(load.profile, load.spacing, createRandom(seed))) {
    if (dueAt >= durationMs || times.length >= requests) break;
    const freeAt = free.length < slots ? 0 : (free.sort((a, b) => a - b).shift() ?? 0);
    const endedAt = Math.max(dueAt, freeAt) + service(times.length);
    if (slots < Infinity) free.push(endedAt);
    times.push({ dueAt, endedAt });
    if (dueAt >= warmupMs) halves.record(dueAt, endedAt - dueAt);
  }
  const intervals = Array.from({ length: Math.ceil(durationMs / 1000) }, (_, second): IntervalResult => {
    const end = (second + 1) * 1000;
    return {
      ...emptyTotals(),
      second,
      isMeasured: second * 1000 >= warmupMs,
      offered: times.filter(({ dueAt }) => dueAt < end && dueAt >= end - 1000).length,
      inFlight: times.filter(({ dueAt, endedAt }) => dueAt < end && endedAt >= end).length,
    };
  });
  return fallingBehind(asked, [halves], intervals);
}

/** 250 requests per second. */
const queue: Server = { slots: 50, service: () => 200 };

describe('a server that is asked for more than it does', () => {
  it.each([
    ['a third too much', scenario(330)],
    ['a tenth too much', scenario(275)],
    ['behind a warm-up', scenario(330, { warmupMs: '3s' })],
    ['in a load of some requests', scenario(330, { requests: 1650 })],
    [
      'evenly',
      scenario(330, {
        load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 330 } },
      }),
    ],
  ])('falls behind: %s', (_, asked) => {
    const behind = measure(asked, queue);
    expect(behind?.secondHalfMs).toBeGreaterThan((behind?.firstHalfMs ?? 0) * 1.4);
  });
});

describe('a server that keeps up', () => {
  const lengths = createRandom(9);
  it.each<[string, Scenario, Server]>([
    ['with room', scenario(150), queue],
    ['with little room', scenario(230), queue],
    ['with answers that take nearly as long as the load', scenario(50), { service: () => 8000 }],
    ['with answers of any length', scenario(50), { service: () => 8000 * lengths() }],
    ['with answers of a long tail', scenario(50), { service: () => 300 / (1 - 0.999 * lengths()) }],
    ['in a load of a second', scenario(330, { durationMs: '1s' }), queue],
    [
      'while it fills up',
      scenario(50, { durationMs: '30s' }),
      { service: (at) => Math.min(6000, 1000 + at * 20) },
    ],
  ])('does not fall behind: %s', (_, asked, server) => {
    expect(measure(asked, server)).toBeUndefined();
  });

  it('is not judged by a load that changes', () => {
    const ramp = scenario(1, {
      load: { kind: 'open', profile: { kind: 'ramp', from: 100, to: 400, overMs: '10s' } },
    });
    expect(measure(ramp, queue)).toBeUndefined();
  });
});
