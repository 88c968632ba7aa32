import { describe, expect, it } from 'vitest';
import { emptyTotals } from './measures/recorder.ts';
import type { SearchPoint } from './measures/result.ts';
import { Progress, redrawnColumns } from './progress.ts';
import { point } from './report/test-result.ts';
import { parseScenario, type ScenarioInput } from './scenario/scenario.ts';

const second = {
  ...emptyTotals(),
  second: 9,
  isMeasured: true,
  inFlight: 4,
  offered: 50,
  ok: 48,
  refused: 2,
  tokens: 480,
};

function shown(
  columns: number | undefined,
  show: (progress: Progress) => void,
  input: ScenarioInput = {},
): string {
  let text = '';
  const scenario = parseScenario({ durationMs: '40s', warmupMs: '10s', ...input });
  show(
    new Progress({
      scenario,
      ...(columns !== undefined && { columns: () => columns }),
      write: (part) => {
        text += part;
      },
    }),
  );
  return text;
}

describe('live progress', () => {
  it('shows rates, percentiles, what is in flight and the time left', () => {
    const text = shown(80, (progress) =>
      progress.interval({ ...second, failed: 3, ttftP50: 51.2, ttftP99: 130 }),
    );
    expect(text).toMatch(/0:10 {2}ETA 0:30 {2}warming up/);
    expect(text).toContain(
      '50/s offered  48/s ok  2/s 429  3/s failed\n480 tokens/s  4 in flight  3 errors\n',
    );
    expect(text).toContain('TTFT p50 51.2 ms p99 130 ms');
    // Where lines are not redrawn, each is one second and says which.
    expect(shown(undefined, (progress) => progress.interval(second))).toMatch(
      /^0:10 {2}ETA 0:30 {2}warming up {2}50\/s offered .* in flight {2}0 errors/,
    );
  });

  it('ends with the asked number of requests, where they come sooner than the time is over', () => {
    const tenSeconds = (progress: Progress) => {
      for (let at = 0; at < 10; at++) progress.interval({ ...second, second: at });
    };
    expect(shown(80, tenSeconds, { requests: 750 })).toMatch(/0:10 {2}ETA 0:05 /);
    expect(shown(80, tenSeconds, { requests: 500 })).toMatch(/0:10 {2}finishing/);
    expect(shown(80, tenSeconds, { requests: 1_000_000 })).toMatch(/0:10 {2}ETA 0:30 /);
    // Each load of a search makes that many.
    const secondLoad = (progress: Progress) => {
      tenSeconds(progress);
      progress.load(50, 'search');
      progress.interval({ ...second, second: 0 });
    };
    expect(shown(80, secondLoad, { requests: 500 })).toMatch(/0:01 {2}ETA 0:09 /);
  });

  it('tells what a load of a search did, of single bodies too', () => {
    const { ttftP50: _p50, ttftP99: _p99, ...single } = point(50, 50, 0);
    const streamed = shown(undefined, (progress) => progress.point(point(50, 50, 0)));
    expect(streamed).toContain('50/s  met     good 100.0 %  TTFT p50 10.0 ms p99 100 ms');
    expect(shown(undefined, (progress) => progress.point(single))).toContain(
      'good 100.0 %  end to end p50 20.0 ms p99 200 ms  429 0/s',
    );
  });

  it('redraws its own lines on a terminal and only there', () => {
    const twice = (progress: Progress) => {
      progress.interval(second);
      progress.interval({ ...second, second: 10 });
    };
    expect(shown(80, twice)).toContain('\u001b[4A\u001b[J');
    expect(shown(undefined, twice)).not.toContain('\u001b');
  });

  it('tells how many failed at a load, and of what: of wrong text above all', () => {
    const errors = { 'http 429 rate_limit_error': 90, timeout: 7, 'wrong text: gap': 2 };
    const failed = { ...point(50, 40, 5), failedRate: 3 };
    const line = (found: SearchPoint) => shown(undefined, (progress) => progress.point(found));
    expect(line({ ...failed, errors })).toContain('429 5/s  failed 3/s (wrong text: gap)\n');
    expect(line({ ...failed, errors: { 'http 429': 90, timeout: 7 } })).toContain('failed 3/s (timeout)\n');
    // Older results do not say of what.
    expect(line(failed)).toContain('failed 3/s\n');
    expect(line(point(50, 40, 5))).not.toContain('failed');
    expect(line({ ...point(50, 50, 0), fallsBehind: true })).toContain('50/s  behind  good 100.0 %');
  });

  it('redraws nothing where that is impossible: in a file, a pipe, or a terminal without a cursor', () => {
    expect(redrawnColumns({ isTTY: true, columns: 132 }, 'xterm-256color')?.()).toBe(132);
    expect(redrawnColumns({ isTTY: true, columns: 132 }, 'dumb')).toBeUndefined();
    expect(redrawnColumns({}, 'xterm-256color')).toBeUndefined();
  });

  it('cuts nothing off on a terminal that does not know its width', () => {
    expect(shown(0, (progress) => progress.interval(second))).toContain('0/s failed\n');
  });

  it.each([80, 40])('leaves no line for a terminal of %i columns to wrap', (columns) => {
    const busy = { ...second, offered: 12_345, ok: 12_345, tokens: 1_234_567, ttftP50: 51.2, ttftP99: 130 };
    const text = shown(columns, (progress) => progress.interval(busy));
    for (const line of text.split('\n')) expect(line.length).toBeLessThan(columns);
    if (columns === 80) expect(text).toContain('failed\n');
  });
});
