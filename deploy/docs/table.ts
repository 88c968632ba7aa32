/** A table in Markdown. Bars in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''];
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}
