import type { ProcessLine } from './observation.ts';

/** Attempts by request id, as the ingresses logged them. */
export function attemptsByRequest(lines: readonly ProcessLine[]): Map<string, number> {
  const attempts = new Map<string, number>();
  for (const { text } of lines) {
    const id = /"requestId":"(\w+)"/.exec(text)?.[1];
    const count = /"attempts":(\d+)/.exec(text)?.[1];
    if (id !== undefined && count !== undefined) attempts.set(id, Number(count));
  }
  return attempts;
}
