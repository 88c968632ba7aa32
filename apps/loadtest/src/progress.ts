import { failuresOf, sortedErrors } from './measures/error-classes.ts';
import { type IntervalResult, isHeld, type SearchPoint } from './measures/result.ts';
import { formatClock, formatMs } from './scenario/duration.ts';
import type { Scenario } from './scenario/scenario.ts';

/** Where progress is written. */
export interface ProgressOptions {
  scenario: Scenario;
  /**
   * Width of the terminal, on which the live lines are redrawn. Absent: not a terminal, so a line per second is
   * printed.
   */
  columns?: () => number;
  write(text: string): void;
}

/**
 * The width of the terminal that is written to, for `columns`. Undefined if lines can't be redrawn there: it is a file, a
 * pipe, or by its `TERM` a terminal that knows no control sequences.
 */
export function redrawnColumns(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  terminal: string | undefined,
): (() => number) | undefined {
  if (stream.isTTY !== true || terminal === 'dumb') return undefined;
  return () => stream.columns ?? 0;
}

const barWidth = 28;
const usualColumns = 80;

/** Shows a run while it goes: rates, percentiles and errors of the last second, and the time left. */
export class Progress {
  private readonly options: ProgressOptions;
  private drawn = 0;
  private errors = 0;
  private offered = 0;
  private title = '';

  constructor(options: ProgressOptions) {
    this.options = options;
  }

  /** A load of a search begins. */
  load(rate: number, phase: SearchPoint['phase']): void {
    this.errors = 0;
    this.offered = 0;
    this.title = `${phase === 'beyond' ? 'past saturation' : 'searching'}: ${formatRate(rate)}`;
    if (!this.options.columns) this.options.write(`${this.title}\n`);
  }

  interval(interval: IntervalResult): void {
    this.errors += interval.failed;
    this.offered += interval.offered;
    const { bar, time, facts } = this.lines(interval);
    if (!this.options.columns) {
      this.options.write(`${[time, ...facts].join('  ').trimEnd()}\n`);
      return;
    }
    const lines = [`${this.title === '' ? '' : `${this.title}  `}${bar} ${time}`, ...facts];
    this.erase();
    // A wrapped line would be two lines to erase. A terminal whose size is unknown reports 0 columns.
    const width = (this.options.columns() || usualColumns) - 1;
    this.options.write(`${lines.map((line) => line.slice(0, width)).join('\n')}\n`);
    this.drawn = lines.length;
  }

  /** A load of a search has ended. */
  point(point: SearchPoint): void {
    this.erase();
    const verdict = isHeld(point) ? 'met   ' : point.meetsSlo ? 'behind' : 'missed';
    const parts = [
      `${formatRate(point.offeredRate).padStart(9)}  ${verdict}`,
      `good ${(point.attainment * 100).toFixed(1)} %`,
      point.ttftP50 === undefined
        ? latency('end to end', point.endToEndP50, point.endToEndP99)
        : latency('TTFT', point.ttftP50, point.ttftP99),
      `429 ${formatRate(point.refusedRate)}`,
      failure(point),
      ...(point.isClientBottleneck ? ['client was the bottleneck'] : []),
    ];
    this.options.write(`${parts.filter((part) => part !== '').join('  ')}\n`);
  }

  /** Erases the live lines. */
  erase(): void {
    if (this.drawn > 0) this.options.write(`\u001b[${this.drawn}A\u001b[J`);
    this.drawn = 0;
  }

  /** The time left until the duration is over or, at the rate so far, the requests of `-n` have come. */
  private leftMs(elapsedMs: number): number {
    const { durationMs, requests = Infinity } = this.options.scenario;
    const pace = Math.max(this.offered, 1) / elapsedMs;
    return Math.max(0, Math.min(durationMs - elapsedMs, (requests - this.offered) / pace));
  }

  private lines(interval: IntervalResult): { bar: string; time: string; facts: string[] } {
    const { warmupMs } = this.options.scenario;
    const elapsedMs = (interval.second + 1) * 1000;
    const leftMs = this.leftMs(elapsedMs);
    const share = elapsedMs / (elapsedMs + leftMs);
    const bar = '━'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '·');
    const left = leftMs > 0 ? `ETA ${formatClock(leftMs)}` : 'finishing';
    const phase = elapsedMs <= warmupMs ? '  warming up' : '';
    const latencies = [
      latency('TTFT', interval.ttftP50, interval.ttftP99),
      latency('end to end', interval.endToEndP50, interval.endToEndP99),
    ];
    return {
      bar,
      time: `${formatClock(elapsedMs)}  ${left}${phase}`,
      facts: [
        `${interval.offered}/s offered  ${interval.ok}/s ok  ${interval.refused}/s 429  ${interval.failed}/s failed`,
        `${interval.tokens} tokens/s  ${interval.inFlight} in flight  ${this.errors} errors`,
        latencies.filter((text) => text !== '').join('   '),
      ],
    };
  }
}

function latency(name: string, p50: number | undefined, p99: number | undefined): string {
  return p50 === undefined || p99 === undefined ? '' : `${name} p50 ${formatMs(p50)} p99 ${formatMs(p99)}`;
}

/** How many failed, and of what: wrong text before all else, then what was most frequent. */
function failure({ failedRate, errors = {} }: SearchPoint): string {
  if (failedRate === 0) return '';
  const [name] = sortedErrors(failuresOf(errors))[0] ?? [];
  return `failed ${formatRate(failedRate)}${name === undefined ? '' : ` (${name})`}`;
}

/** Requests per second for a reader. */
export function formatRate(rate: number): string {
  return `${rate >= 100 ? Math.round(rate) : Number(rate.toPrecision(3))}/s`;
}
