import { readFile } from 'node:fs/promises';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const minuteMs = 60_000;
/** As an option of a test, of a `describe` or of the whole file, and as a number at the end. */
const limits = /(?:\btestTimeout|\btimeout): ?([\d_]+)|^\}, ([\d_]+)\);/gm;

/**
 * Of each group, starts the files first that claim a minute or more for a test of theirs, the greatest claim before the
 * others. A file that takes a minute would else run last, and alone, when its turn comes late.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const claims = new Map(
      await Promise.all(
        files.map(async (file) => [file, longestClaim(await readFile(file.moduleId, 'utf8'))] as const),
      ),
    );
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const claimOf = (file: TestSpecification) => claims.get(file) ?? 0;
    return (await super.sort(files)).toSorted(
      (one, other) => groupOf(one) - groupOf(other) || claimOf(other) - claimOf(one),
    );
  }
}

/** The longest limit that the text of a test file sets for a test, in milliseconds; 0 if that is under a minute. */
export function longestClaim(text: string): number {
  const claimed = Array.from(text.matchAll(limits), ([, named, last]) =>
    Number((named ?? last ?? '').replaceAll('_', '')),
  );
  return Math.max(0, ...claimed.filter((limitMs) => limitMs >= minuteMs));
}
