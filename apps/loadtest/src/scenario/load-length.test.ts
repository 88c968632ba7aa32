import { describe, expect, it } from 'vitest';
import { parseTrace } from '../arrivals/trace.ts';
import { fitDuration, notesOfCut } from './load-length.ts';
import { parseScenario, type ScenarioInput } from './scenario.ts';
import { overlay, type ScenarioFlagValues } from './scenario-flags.ts';

const scenario = (flags: ScenarioFlagValues) => parseScenario(overlay({}, flags));
const trace = (instants: number[], speed = 1) => parseTrace(['at_ms', ...instants].join('\n'), speed);

describe('the length of a load', () => {
  it('is 30 seconds where the load has no length of its own', () => {
    expect(scenario({ rate: '5' }).durationMs).toBe(30_000);
    expect(scenario({ users: '5' }).durationMs).toBe(30_000);
  });

  it('is the sum of its steps, or the time of its ramp', () => {
    expect(scenario({ steps: '100x30s,200x30s' }).durationMs).toBe(60_000);
    const profile = { kind: 'ramp', from: 1, to: 9, overMs: '2m' };
    expect(parseScenario({ load: { kind: 'open', profile } }).durationMs).toBe(120_000);
  });

  it('is that of its trace at its speed, the last arrival with a gap included', () => {
    const asked = scenario({ trace: 'a.csv' });
    expect(fitDuration(asked, trace([0, 40_000, 120_000])).durationMs).toBe(180_000);
    expect(fitDuration(asked, trace([0, 40_000, 120_000], 2)).durationMs).toBe(90_000);
    expect(fitDuration(asked, trace([7, 7])).durationMs).toBeGreaterThan(0);
  });

  it('is what the flag says, and tells what that cuts off', () => {
    const cut = scenario({ trace: 'a.csv', duration: '1s' });
    const played = trace([0, 500, 1_000, 2_000]);
    expect(fitDuration(cut, played).durationMs).toBe(1_000);
    expect(notesOfCut(cut, played)).toEqual([
      "plays 2 of the trace's 4 arrivals: the duration of 1.00 s cuts it off",
    ]);
    expect(notesOfCut(scenario({ steps: '100x30s,200x30s', duration: '10s' }), undefined)).toEqual([
      'plays 10.0 s of 1.0 min of steps',
    ]);
    const profile = { kind: 'ramp', from: 10, to: 200, overMs: '20s' };
    const ramp = (input: ScenarioInput) => parseScenario({ load: { kind: 'open', profile }, ...input });
    expect(notesOfCut(ramp({ durationMs: '10s' }), undefined)).toEqual([
      'plays 10.0 s of 20.0 s of the ramp, which ends at 105/s',
    ]);
    expect(notesOfCut(ramp({}), undefined)).toEqual([]);
  });

  it('cuts nothing off where nobody says a duration', () => {
    expect(notesOfCut(scenario({ steps: '100x30s,200x30s' }), undefined)).toEqual([]);
    const played = trace([0, 500, 1_000, 2_000]);
    expect(notesOfCut(fitDuration(scenario({ trace: 'a.csv' }), played), played)).toEqual([]);
  });

  it('leaves something to measure after the warm-up', () => {
    expect(() => fitDuration(scenario({ trace: 'a.csv', warmup: '5s' }), trace([0, 1_000]))).toThrow(
      'nothing is left',
    );
  });
});
