/** A circle of each knot among things that lead to others, as `a → b → a`; none if none leads back to itself. */
export function findCycles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const path: string[] = [];
  const left = new Set<string>();
  const walk = (name: string): void => {
    if (left.has(name)) return;
    const start = path.indexOf(name);
    if (start >= 0) {
      cycles.push([...path.slice(start), name].join(' → '));
      return;
    }
    path.push(name);
    for (const next of edges.get(name) ?? []) walk(next);
    path.pop();
    left.add(name);
  };
  for (const name of edges.keys()) walk(name);
  return cycles;
}
