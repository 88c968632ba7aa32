/** The candidate that was probably meant by `word`; absent if none is close. Case and punctuation are ignored. */
export function nearestSpelling(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = bare(word);
  let nearest: string | undefined;
  let nearestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, bare(candidate));
    if (distance < nearestDistance) {
      nearest = candidate;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/** `; did you mean slots?`. If none is close, the names that exist, if they are few; else ''. */
export function spellingHint(word: string, candidates: Iterable<string>): string {
  const names = [...candidates].filter((name) => /^\S+$/.test(name));
  const nearest = nearestSpelling(word, names);
  if (nearest !== undefined) return `; did you mean ${nearest}?`;
  return names.length > 0 && names.length <= 12 ? `; known: ${names.join(', ')}` : '';
}

/** A name without case and punctuation, so that `WAIT_BUDGET_MS` and `waitBudgetMs` are the same word. */
export function bare(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Optimal string alignment: insertions, deletions, replacements and swapped neighbours cost 1 each. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
