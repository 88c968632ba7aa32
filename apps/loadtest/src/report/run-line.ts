import type { Stroke } from './chart.ts';

/** How a run is drawn: the same in all charts. */
export interface RunLine {
  color: number;
  stroke: Stroke;
  /** The stroke of the run's second line in a chart: its tail latency, or what it refused. */
  tailStroke: Stroke;
}

/** How many colours the style sheet has for runs. */
const colors = 8;

/** Strokes for the first eight runs, for the next eight, which repeat the colours, and so on. */
const strokes: readonly (readonly [Stroke, Stroke])[] = [
  ['solid', 'dashed'],
  ['dash-dotted', 'dotted'],
  ['long-dashed', 'sparse'],
];

/** The line of the run at this position; runs after the 24th look like earlier ones. */
export function lineOf(run: number): RunLine {
  const [stroke, tailStroke] = strokes[Math.floor(run / colors) % strokes.length] ?? ['solid', 'dashed'];
  return { color: (run % colors) + 1, stroke, tailStroke };
}

/** For lines that belong to no run, such as the offered load. */
export const quiet: Pick<RunLine, 'color' | 'stroke'> = { color: 0, stroke: 'solid' };
