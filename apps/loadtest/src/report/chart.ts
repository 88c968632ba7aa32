import { escapeHtml } from './html-text.ts';
import { createScale, type Scale, type ScaleKind } from './scale.ts';

/** How a line is broken. */
export type Stroke = 'solid' | 'dashed' | 'dotted' | 'dash-dotted' | 'long-dashed' | 'sparse';

/** One line of a chart. */
export interface Series {
  name: string;
  /** 1 to 8: a colour of the style sheet; 0 is the quiet grey of references. */
  color: number;
  stroke: Stroke;
  points: readonly (readonly [x: number, y: number])[];
}

interface Mark {
  x: number;
  name: string;
  color: number;
}

/** A line chart; axis labels carry their unit. */
export interface Chart {
  title: string;
  xLabel: string;
  yLabel: string;
  xScale: ScaleKind;
  yScale: ScaleKind;
  series: readonly Series[];
  formatX(value: number): string;
  formatY(value: number): string;
  /** Vertical lines with names. */
  marks?: readonly Mark[];
  /** The part of the chart left of an x that is not its subject, such as a warm-up, with a name. */
  shade?: { to: number; name: string };
  /** Values that the y axis must include, too, so that charts side by side can be compared. */
  yIncludes?: readonly number[];
}

const width = 560;
const height = 300;
const plot = { left: 78, right: 18, top: 14, bottom: 48 };
const plotWidth = width - plot.left - plot.right;
const plotHeight = height - plot.top - plot.bottom;
const dashes: Readonly<Record<Stroke, string>> = {
  solid: '',
  dashed: '6 4',
  dotted: '1.5 4',
  'dash-dotted': '8 4 1.5 4',
  'long-dashed': '14 4',
  sparse: '1.5 9',
};
/** The strokes of a run's second line in a chart. */
const hollow: ReadonlySet<Stroke> = new Set(['dashed', 'dotted', 'sparse']);
const maximumDots = 40;

/** The chart as an HTML figure with inline SVG; the page's script adds the read-out at the pointer. */
export function renderChart(chart: Chart): string {
  const series = chart.series.filter((line) => line.points.length > 0);
  const points = series.flatMap((line) => line.points);
  const xs = points.map(([x]) => x);
  const marks = chart.marks ?? [];
  const x = createScale(chart.xScale, [...xs, ...marks.map((mark) => mark.x)]);
  const y = createScale(chart.yScale, [...points.map(([, value]) => value), ...(chart.yIncludes ?? [])]);
  const placed = series.map((line) =>
    line.points.map(([px, py]) => [screenX(x, px), screenY(y, py)] as const),
  );
  const readout = series.map((line, at) => ({
    name: line.name,
    color: line.color,
    points: line.points.map(([px, py], i) => [
      Math.round(placed[at]?.[i]?.[0] ?? 0),
      chart.formatX(px),
      chart.formatY(py),
    ]),
  }));
  const label = `${chart.title}, ${chart.yLabel} by ${chart.xLabel}: arrow keys read it out`;
  const attributes = [
    `viewBox="0 0 ${width} ${height}"`,
    `role="img" tabindex="0" aria-label="${escapeHtml(label)}"`,
    `data-readout="${escapeHtml(JSON.stringify(readout))}"`,
  ].join(' ');
  return `<figure>
<figcaption>${escapeHtml(chart.title)}<span>${escapeHtml(chart.yLabel)}</span></figcaption>
${renderLegend(series)}
<svg ${attributes}>
${chart.shade ? renderShade(chart.shade.name, screenX(x, chart.shade.to)) : ''}
${renderAxes(chart, x, y)}
${marks.map((mark, at) => renderMark(mark, screenX(x, mark.x), at)).join('\n')}
${series.map((line, at) => renderLine(line, placed[at] ?? [], at)).join('\n')}
<line class="cursor" y1="${plot.top}" y2="${plot.top + plotHeight}" visibility="hidden"/>
</svg>
</figure>`;
}

/** A short piece of a line, shown before its name in the legend. */
export function renderSample(line: Pick<Series, 'color' | 'stroke'>): string {
  const stroke = `<line x1="1" x2="25" y1="4" y2="4" ${strokeOf(line)}/>`;
  return `<svg class="sample" viewBox="0 0 26 8" aria-hidden="true">${stroke}</svg>`;
}

function renderLegend(series: readonly Series[]): string {
  const entries = series.map((line, at) => {
    const content = renderSample(line) + escapeHtml(line.name);
    return `<button type="button" data-line="${at}" aria-pressed="true">${content}</button>`;
  });
  return `<div class="legend">${entries.join('')}</div>`;
}

function renderAxes(chart: Chart, x: Scale, y: Scale): string {
  const bottom = plot.top + plotHeight;
  const middle = plot.left + plotWidth / 2;
  const horizontal = y.ticks.map((tick) => {
    const at = screenY(y, tick).toFixed(1);
    const name = escapeHtml(chart.formatY(tick));
    const label = `<text x="${plot.left - 8}" y="${at}" dy="0.35em" text-anchor="end">${name}</text>`;
    return `<line class="grid" x1="${plot.left}" x2="${width - plot.right}" y1="${at}" y2="${at}"/>${label}`;
  });
  const vertical = x.ticks.map((tick) => {
    const at = screenX(x, tick).toFixed(1);
    const label = `<text x="${at}" y="${bottom + 18}" text-anchor="middle">${escapeHtml(chart.formatX(tick))}</text>`;
    return `<line class="tick" x1="${at}" x2="${at}" y1="${bottom}" y2="${bottom + 5}"/>${label}`;
  });
  return [
    ...horizontal,
    ...vertical,
    `<line class="axis" x1="${plot.left}" x2="${width - plot.right}" y1="${bottom}" y2="${bottom}"/>`,
    `<text class="label" x="${middle}" y="${height - 8}" text-anchor="middle">${escapeHtml(chart.xLabel)}</text>`,
  ].join('\n');
}

function renderLine(line: Series, points: readonly (readonly [number, number])[], at: number): string {
  const path = points
    .map(([px, py], i) => `${i === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`)
    .join('');
  // Tells the second line apart where it is a single dot.
  const fill = hollow.has(line.stroke) ? ' style="fill:var(--card);stroke:currentColor"' : '';
  const dots =
    points.length <= maximumDots && line.color > 0
      ? points
          .map(([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="2.6"${fill}/>`)
          .join('')
      : '';
  const drawn = `<path d="${path}" fill="none" ${strokeOf(line)}/>${dots}`;
  return `<g data-line="${at}" style="color:var(--series-${line.color})" fill="currentColor">${drawn}</g>`;
}

function renderShade(name: string, at: number): string {
  const to = Math.min(at, plot.left + plotWidth);
  const size = `width="${(to - plot.left).toFixed(1)}" height="${plotHeight}"`;
  const area = `<rect class="shade" x="${plot.left}" y="${plot.top}" ${size}/>`;
  return `${area}<text x="${plot.left}" y="${plot.top - 3}">${escapeHtml(name)}</text>`;
}

/** A named vertical line. Names stand below each other, since lines may be close, in the colour of their series. */
function renderMark(mark: Mark, at: number, row: number): string {
  const isRight = at > plot.left + plotWidth / 2;
  const color = `var(--series-${mark.color})`;
  const line = `x1="${at}" x2="${at}" y1="${plot.top}" y2="${plot.top + plotHeight}"`;
  const place = `x="${at + (isRight ? -6 : 6)}" y="${plot.top + 12 + 18 * row}"`;
  const anchor = isRight ? 'end' : 'start';
  return (
    `<line class="mark" style="stroke:${color}" ${line}/>` +
    `<text style="fill:${color}" ${place} text-anchor="${anchor}">${escapeHtml(mark.name)}</text>`
  );
}

function strokeOf(line: Pick<Series, 'color' | 'stroke'>): string {
  const dash = dashes[line.stroke];
  const dashed = dash && ` stroke-dasharray="${dash}" stroke-linecap="round"`;
  return `stroke="var(--series-${line.color})" stroke-width="${line.color === 0 ? 1.2 : 1.8}"${dashed}`;
}

function screenX(scale: Scale, value: number): number {
  return plot.left + scale.place(value) * plotWidth;
}

function screenY(scale: Scale, value: number): number {
  return plot.top + (1 - Math.min(1, scale.place(value))) * plotHeight;
}
