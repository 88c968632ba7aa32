import { describe, expect, it } from 'vitest';
import { parseScenario } from '../scenario/scenario.ts';
import { Recorder } from './recorder.ts';
import { Throughput } from './throughput.ts';
import { Timeline } from './timeline.ts';

/** A process's part of a second in which so many requests came. */
function part(index: number, offered: number) {
  const recorder = new Recorder({ attainment: 1 }, new Throughput(0, Infinity));
  for (let at = 0; at < offered; at++) recorder.arrived(false, true);
  return recorder.takeInterval(index, true);
}

function timeline(processes: number) {
  const seen: [number, number][] = [];
  const scenario = parseScenario({ processes });
  return { seen, line: new Timeline(scenario, ({ second, offered }) => seen.push([second, offered])) };
}

describe('the seconds of several processes', () => {
  it('are told when all have reported them', () => {
    const { seen, line } = timeline(2);
    line.add(part(0, 1), 0);
    line.add(part(1, 2), 0);
    expect(seen).toEqual([]);
    line.add(part(0, 4), 1);
    expect(seen).toEqual([[0, 5]]);
  });

  it('wait for nobody who has ended, and for all others', () => {
    const { seen, line } = timeline(3);
    line.add(part(0, 1), 0);
    line.add(part(0, 2), 1);
    line.end(0);
    expect(seen).toEqual([]);
    line.add(part(0, 4), 2);
    line.add(part(1, 8), 1);
    expect(seen).toEqual([[0, 7]]);
    line.end(2);
    expect(seen).toEqual([
      [0, 7],
      [1, 8],
    ]);
  });

  it('wait for no second that a busy process has skipped', () => {
    const { seen, line } = timeline(2);
    line.add(part(0, 1), 0);
    line.add(part(0, 1), 1);
    line.add(part(1, 1), 1);
    line.add(part(2, 1), 0);
    expect(seen).toEqual([
      [0, 2],
      [1, 1],
    ]);
  });

  it('are told once, whatever a dead process still had to say', () => {
    const { seen, line } = timeline(2);
    line.add(part(0, 1), 0);
    line.end(1);
    line.add(part(0, 1), 1);
    expect(line.finish()).toHaveLength(1);
    expect(seen).toEqual([[0, 1]]);
  });
});
