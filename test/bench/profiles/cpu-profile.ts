import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const node = z.looseObject({
  id: z.number(),
  callFrame: z.looseObject({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
  children: z.array(z.number()).optional(),
});
const profile = z.looseObject({
  nodes: z.array(node),
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type Node = z.output<typeof node>;
/** Where a function stands. An empty `url` is for what is not JavaScript. */
export type Place = Pick<Node, 'callFrame'>;

/** Microseconds or bytes by what they were spent on, largest first. */
export type Costs = readonly (readonly [what: string, amount: number])[];

/** What a process spent its CPU time on during a window of the monotonic clock. */
export interface ProfileSummary {
  busyUs: number;
  /** By package, or by file of ours. */
  modules: Costs;
  /** By function, with its file and line. */
  functions: Costs;
  /** Our functions, each with everything that it called. */
  inclusive: Costs;
}

const waiting: ReadonlySet<string> = new Set(['(idle)', '(root)']);

/** Reads the profile that a process left in a folder. */
export async function readProfile(
  folder: string,
  pid: number,
  window: { fromUs: number; toUs: number },
  root: string,
): Promise<ProfileSummary> {
  const name = (await readdir(folder)).find((file) => file.split('.')[3] === String(pid));
  if (name === undefined) throw new Error(`process ${pid} left no profile`);
  const { nodes, startTime, samples, timeDeltas } = profile.parse(
    JSON.parse(await readFile(join(folder, name), 'utf8')),
  );
  const byId = new Map(nodes.map((each) => [each.id, each]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const sums = { modules: new Map(), functions: new Map(), inclusive: new Map() } satisfies Record<
    string,
    Map<string, number>
  >;
  let at = startTime;
  let busyUs = 0;
  samples.forEach((id, index) => {
    const us = timeDeltas[index] ?? 0;
    at += us;
    const found = byId.get(id);
    if (at < window.fromUs || at > window.toUs || !found || waiting.has(found.callFrame.functionName)) return;
    busyUs += us;
    add(sums.modules, moduleOf(found, root), us);
    add(sums.functions, functionOf(found, root), us);
    for (const name of ownCallers(found, { byId, parents, root })) add(sums.inclusive, name, us);
  });
  return {
    busyUs,
    modules: sortedCosts(sums.modules),
    functions: sortedCosts(sums.functions),
    inclusive: sortedCosts(sums.inclusive),
  };
}

/** Our functions on the stack, each once. */
function ownCallers(
  found: Node,
  { byId, parents, root }: { byId: Map<number, Node>; parents: Map<number, number>; root: string },
): Set<string> {
  const names = new Set<string>();
  for (let current: Node | undefined = found; current; ) {
    if (moduleOf(current, root).includes('/src/')) names.add(functionOf(current, root));
    const parent: number | undefined = parents.get(current.id);
    current = parent === undefined ? undefined : byId.get(parent);
  }
  return names;
}

/** The package, Node's module or our file of a function. */
export function moduleOf({ callFrame: { url, functionName } }: Place, root: string): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url;
  const path = pathOf(url, root);
  const [, installed] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return installed ?? path;
}

/** A function with its file, from `root`, and its line. */
export function functionOf({ callFrame }: Place, root: string): string {
  const { url, functionName, lineNumber } = callFrame;
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const path = url.startsWith('node:') ? url : pathOf(url, root);
  return `${name} ${path.replace(/.*node_modules\//, '')}:${lineNumber + 1}`;
}

function pathOf(url: string, root: string): string {
  return url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
}

/** Adds to the sum of a name. */
export function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

/** Largest first. */
export function sortedCosts(sums: ReadonlyMap<string, number>): Costs {
  return [...sums].sort(([, a], [, b]) => b - a);
}
