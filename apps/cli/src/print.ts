import { formatPolicy } from '@sluice/admission';
import type { Limits } from '@sluice/tenancy';

/** Rows under a heading, in aligned columns with two spaces between. Without rows it is the text of `empty`. */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return empty;
  const lines = [heading, ...rows];
  // Not `Math.max(...lengths)`: one call does not take hundreds of thousands of arguments.
  const widths = heading.map((_, column) =>
    lines.reduce((width, line) => Math.max(width, line[column]?.length ?? 0), 0),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `name  value` lines; absent values are left out. */
export function formatFacts(facts: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined);
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Epoch milliseconds as an ISO instant to the second; `-` where absent. */
export function formatInstant(instant: number | undefined): string {
  return instant === undefined ? '-' : new Date(instant).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Policies as they are typed: `concurrency=10 request-rate=60/1m`; `-` for none. */
export function formatLimits(limits: Limits): string {
  const parts = Object.entries(limits).map(([name, policy]) => `${name}=${formatPolicy(policy)}`);
  return parts.length === 0 ? '-' : parts.join(' ');
}
