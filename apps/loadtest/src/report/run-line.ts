import type { Stroke } from './chart.ts';

/** How a run is drawn: the same in all charts. */
export interface RunLine {
  color: number;
  stroke: Stroke;
  /** For the run's second line in a chart: its tail, or what it refused. */
  tailStroke: Stroke;
}

/** How many colours the style sheet has for runs. */
const colors = 8;

/** Those that have the colours first, those that repeat them, and so on. */
const strokes: readonly (readonly [Stroke, Stroke])[] = [
  ['solid', 'dashed'],
  ['dash-dotted', 'dotted'],
  ['long-dashed', 'sparse'],
];

/** The line of the run in this place; those after the 24th can't be told from earlier ones. */
export function lineOf(run: number): RunLine {
  const [stroke, tailStroke] = strokes[Math.floor(run / colors) % strokes.length] ?? ['solid', 'dashed'];
  return { color: (run % colors) + 1, stroke, tailStroke };
}

/** What is no run's own, such as the load that was offered. */
export const quiet: Pick<RunLine, 'color' | 'stroke'> = { color: 0, stroke: 'solid' };
