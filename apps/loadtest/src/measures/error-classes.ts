/** Errors by class. */
export type ErrorCounts = Readonly<Record<string, number>>;

const prefix = 'wrong text: ';

/** The class of errors of answers whose text had this problem. */
export function wrongTextClass(problem: string): string {
  return prefix + problem;
}

/** Whether errors of this class are answers with wrong text. */
export function isWrongText(errorClass: string): boolean {
  return errorClass.startsWith(prefix);
}

/** The wrong text among errors; undefined if there is none. */
export function wrongTextOf(errors: ErrorCounts): ErrorCounts | undefined {
  const wrong = Object.entries(errors).filter(([name]) => isWrongText(name));
  return wrong.length === 0 ? undefined : Object.fromEntries(wrong);
}

/** The errors without refusals, which are no failures. */
export function failuresOf(errors: ErrorCounts): ErrorCounts {
  return Object.fromEntries(Object.entries(errors).filter(([name]) => !/^http 429\b/.test(name)));
}

/** Adds up by class. */
export function addErrors(...parts: readonly (ErrorCounts | undefined)[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const part of parts)
    for (const [name, count] of Object.entries(part ?? {})) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** The classes of errors with their counts: wrong text first, then by how many there were. */
export function sortedErrors(errors: ErrorCounts): [string, number][] {
  const rank = (name: string) => (isWrongText(name) ? 0 : 1);
  return Object.entries(errors).sort(([a, some], [b, others]) => rank(a) - rank(b) || others - some);
}

/** Errors in words, sorted: `wrong text: gap 3, timeout 1`. */
export function describeErrors(errors: ErrorCounts): string {
  return sortedErrors(errors)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
