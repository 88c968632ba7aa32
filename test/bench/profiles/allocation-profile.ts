import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Costs, functionOf, sortedCosts } from './cpu-profile.ts';

/** Names the folder for profiles in the environment of a process that samples its allocations. */
export const allocationsFolder = 'ALLOCATIONS_FOLDER';
/** Everything that was allocated, or only what outlived a collection of the young generation. */
export type Lifetime = 'all' | 'old';

const node = z.looseObject({
  callFrame: z.looseObject({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
  selfSize: z.number(),
  get children() {
    return z.array(node);
  },
});
type Node = z.output<typeof node>;
const profile = z.looseObject({ head: node });

/** Where a process leaves a profile of its allocations. */
export function allocationsFile(folder: string, pid: number, lifetime: Lifetime): string {
  return join(folder, `${pid}.${lifetime}.heapprofile`);
}

/** Reads the bytes that each function allocated, largest first. Paths are from `root`. */
export async function readAllocations(
  folder: string,
  pid: number,
  lifetime: Lifetime,
  root: string,
): Promise<Costs> {
  const { head } = profile.parse(JSON.parse(await readFile(allocationsFile(folder, pid, lifetime), 'utf8')));
  const sums = new Map<string, number>();
  const visit = (each: Node): void => {
    const name = functionOf(each, root);
    sums.set(name, (sums.get(name) ?? 0) + each.selfSize);
    for (const child of each.children) visit(child);
  };
  visit(head);
  return sortedCosts(sums);
}
