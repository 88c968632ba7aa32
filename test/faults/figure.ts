/** One line of the table of targets. */
export interface Figure {
  test: string;
  target: string;
  measured: string;
  isMet: boolean;
}

export function formatTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ test, target, measured, isMet }) => [
    test,
    target,
    measured,
    isMet ? 'met' : 'NOT MET',
  ]);
  return [
    '| Test | Target | Measured | |',
    '|---|---|---|---|',
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');
}
