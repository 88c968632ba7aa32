/**
 * Names addresses in code that V8 compiled, by the map of `--perf-basic-prof`: lines of start and size, in hexadecimal,
 * and a name. Code moves, and its place is used again, so of several that cover an address the last one is taken.
 */
export function nameAddresses(map: string, addresses: Iterable<number>): Map<number, string> {
  const sorted = [...new Set(addresses)].sort((a, b) => a - b);
  const names = new Map<number, string>();
  for (const line of map.split('\n')) {
    const [, start = '', size = '', name = ''] = /^([0-9a-f]+) ([0-9a-f]+) (.*)$/.exec(line) ?? [];
    if (name === '') continue;
    const from = Number.parseInt(start, 16);
    const end = from + Number.parseInt(size, 16);
    for (let index = firstAtLeast(sorted, from); (sorted[index] ?? end) < end; index += 1) {
      names.set(sorted[index] ?? from, name);
    }
  }
  return names;
}

function firstAtLeast(sorted: readonly number[], wanted: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? wanted) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
