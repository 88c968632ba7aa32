/** The report's style sheet: one set of variables for light pages, one for dark ones. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1b2028; --quiet: #5b6472; --rule: #dfe3e8;
  --good: #146c3a; --bad: #b3261e; --warn-page: #fff4e0; --warn-rule: #d08700;
  --series-0: #8b94a1; --series-1: #1f6fd1; --series-2: #c2470a; --series-3: #0a7d6c; --series-4: #8a3fc0;
  --series-5: #a3730a; --series-6: #c22464; --series-7: #3d7a1f; --series-8: #4d5a73;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1e25; --text: #e7eaef; --quiet: #a0a9b8; --rule: #323945;
    --good: #6fd197; --bad: #ff8f85; --warn-page: #33270f; --warn-rule: #d99a26;
    --series-0: #7b8494; --series-1: #6aa9ff; --series-2: #ff9055; --series-3: #43cdb4; --series-4: #c492f5;
    --series-5: #e3b64a; --series-6: #ff7fae; --series-7: #93d36c; --series-8: #b3bed1;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 36px 0 10px; }
p { margin: 4px 0; color: var(--quiet); max-width: 78ch; }
/* Names may be paths or hashes, in which nothing else allows a break. */
h1, p, .warning, summary, .runs li, .legend { overflow-wrap: anywhere; }
.runs { display: flex; flex-wrap: wrap; gap: 6px 22px; margin: 14px 0 0; padding: 0; list-style: none; }
.warning { background: var(--warn-page); border-left: 4px solid var(--warn-rule); padding: 10px 14px; margin: 14px 0; }
.warning ul { margin: 4px 0 0; padding-left: 20px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); gap: 16px; }
figure, .table { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; margin: 0; padding: 14px 16px; position: relative; }
.table { overflow-x: auto; padding: 4px 0; }
figcaption { font-weight: 600; margin-bottom: 4px; overflow-wrap: anywhere; }
figcaption span { display: block; font-weight: 400; font-size: 12.5px; color: var(--quiet); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 6px; margin-bottom: 6px; min-height: 26px; }
.legend button { all: unset; cursor: pointer; font-size: 12.5px; color: var(--quiet); padding: 1px 6px; border-radius: 5px; }
.legend button:focus-visible { outline: 2px solid var(--series-1); }
.legend button[aria-pressed="false"] { opacity: 0.4; text-decoration: line-through; }
.sample { width: 26px; height: 8px; margin-right: 6px; vertical-align: middle; }
figure > svg { display: block; width: 100%; height: auto; overflow: visible; }
figure > svg:focus-visible, .table:focus-visible { outline: 2px solid var(--series-1); outline-offset: 2px; }
figure { container-type: inline-size; }
svg text { font-size: 11.5px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
svg .label { font-size: 12px; }
/* A chart shrinks with its figure; its text must not. */
@container (max-width: 440px) { figure > svg text, figure > svg .label { font-size: 15px; } }
@container (max-width: 340px) { figure > svg text, figure > svg .label { font-size: 17.5px; } }
svg .shade { fill: var(--rule); opacity: 0.5; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .axis, svg .tick { stroke: var(--quiet); stroke-width: 1; }
svg .mark { stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .cursor { stroke: var(--quiet); stroke-width: 1; pointer-events: none; }
.readout { position: absolute; pointer-events: none; background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 6px 10px; font-size: 12.5px; font-variant-numeric: tabular-nums; box-shadow: 0 3px 12px rgb(0 0 0 / 18%); width: max-content; max-width: 100%; overflow-wrap: anywhere; z-index: 1; }
.readout i { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 10px; border-bottom: 1px solid var(--rule); white-space: nowrap; }
thead th, tbody th { white-space: normal; overflow-wrap: break-word; max-width: 18ch; }
th:first-child { text-align: left; padding-left: 16px; position: sticky; left: 0; background: var(--card); }
tr > :last-child { padding-right: 16px; }
tr.group th { max-width: none; }
tr:last-child > * { border-bottom: 0; }
thead th { color: var(--quiet); font-weight: 600; }
tr.group th { padding-top: 16px; font-weight: 600; text-align: left; }
tbody th { font-weight: 400; }
small { color: var(--quiet); margin-left: 6px; }
@media (max-width: 600px) { td small { display: block; } }
.good { color: var(--good); } .bad { color: var(--bad); }
details { margin-top: 14px; } summary { cursor: pointer; color: var(--quiet); }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 14px; overflow-x: auto; font-size: 12.5px; }
`;

/** The report's script: values at the pointer or by the arrow keys, and lines that the legend hides. */
export const pageScript = `
for (const figure of document.querySelectorAll('figure')) {
  const svg = figure.querySelector(':scope > svg');
  const lines = JSON.parse(svg.dataset.readout);
  const cursor = svg.querySelector('.cursor');
  const readout = document.createElement('div');
  readout.className = 'readout';
  readout.setAttribute('role', 'status');
  readout.hidden = true;
  figure.append(readout);
  const isHidden = (at) => figure.querySelector('button[data-line="' + at + '"]').ariaPressed === 'false';
  for (const button of figure.querySelectorAll('.legend button')) {
    button.addEventListener('click', () => {
      button.ariaPressed = String(button.ariaPressed === 'false');
      svg.querySelector('g[data-line="' + button.dataset.line + '"]').style.display = button.ariaPressed === 'true' ? '' : 'none';
    });
  }
  let at = null;
  const leave = () => { at = null; readout.hidden = true; cursor.setAttribute('visibility', 'hidden'); };
  svg.addEventListener('pointerleave', leave);
  svg.addEventListener('blur', leave);
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    show(((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width);
  });
  svg.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') leave();
    const places = lines.flatMap((line, index) => (isHidden(index) ? [] : line.points.map(([x]) => x)));
    places.sort((a, b) => a - b);
    const next = {
      ArrowLeft: () => places.findLast((x) => x < (at ?? svg.viewBox.baseVal.width)),
      ArrowRight: () => places.find((x) => x > (at ?? -1)),
      Home: () => places[0],
      End: () => places.at(-1),
    }[event.key]?.();
    if (next == null) return;
    event.preventDefault();
    show(next);
  });
  const show = (x) => {
    const box = svg.getBoundingClientRect();
    let nearest;
    const found = [];
    lines.forEach((line, at) => {
      if (isHidden(at)) return;
      const point = line.points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
      found.push([line, point]);
      if (!nearest || Math.abs(point[0] - x) < Math.abs(nearest[0] - x)) nearest = point;
    });
    if (!nearest) return leave();
    at = nearest[0];
    cursor.setAttribute('x1', nearest[0]);
    cursor.setAttribute('x2', nearest[0]);
    cursor.setAttribute('visibility', 'visible');
    // A screen reader ignores changes of a hidden element.
    readout.hidden = false;
    readout.replaceChildren();
    const head = document.createElement('b');
    head.textContent = nearest[1];
    readout.append(head);
    for (const [line, point] of found) {
      if (Math.abs(point[0] - nearest[0]) > 12) continue;
      const row = document.createElement('div');
      const swatch = document.createElement('i');
      swatch.style.background = 'var(--series-' + line.color + ')';
      row.append(swatch, line.name + '  ' + point[2]);
      readout.append(row);
    }
    const from = box.left - figure.getBoundingClientRect().left;
    const place = from + (nearest[0] / svg.viewBox.baseVal.width) * box.width;
    readout.style.top = box.top - figure.getBoundingClientRect().top + 8 + 'px';
    // Beside the line, as far as the figure has room: what is beyond the left edge of a page can't be scrolled to.
    const beside = place > box.width / 2 ? place - readout.offsetWidth - 12 : place + 12;
    readout.style.left = Math.max(0, Math.min(beside, figure.clientWidth - readout.offsetWidth)) + 'px';
  };
}
`;
