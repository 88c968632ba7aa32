import { add, type Costs, functionOf, moduleOf, sortedCosts } from './cpu-profile.ts';
import type { Frame, Sample } from './native-samples.ts';

/** What a process spent its CPU time on, in the kernel, in Node and in compiled JavaScript alike. */
export interface NativeSummary {
  /** By the kernel, garbage collection, other threads, C++, or the package or file of compiled code. */
  layers: Costs;
  /** By function, without what it calls. */
  functions: Costs;
  /** System calls and functions of ours, each with all that it calls. */
  inclusive: Costs;
  /** Calls of JavaScript, system calls and what they end in, with the largest first. */
  tree: Branch;
}

export interface Branch {
  amount: number;
  branches: Map<string, Branch>;
}

/** Sums up samples, each of which stands for `amount`. Paths are from `root`. */
export function summarize(samples: readonly Sample[], amount: number, root: string): NativeSummary {
  const layers = new Map<string, number>();
  const functions = new Map<string, number>();
  const inclusive = new Map<string, number>();
  const tree: Branch = { amount: 0, branches: new Map() };
  for (const { thread, frames } of samples) {
    const steps = frames.map((frame) => describe(frame, root));
    const [leaf = unknown] = steps;
    const place = placeOf(thread, steps);
    add(layers, place ?? leaf.layer, amount);
    add(functions, leaf.name, amount);
    const known = steps.filter(({ isLandmark }) => isLandmark);
    for (const name of new Set(known.filter(({ isListed }) => isListed).map((each) => each.name))) {
      add(inclusive, name, amount);
    }
    const path = known.map(({ name }) => name).reverse();
    if (place !== undefined) path.push(place);
    if (path.at(-1) !== leaf.name) path.push(leaf.name);
    grow(tree, path, amount);
  }
  return {
    layers: sortedCosts(layers),
    functions: sortedCosts(functions),
    inclusive: sortedCosts(inclusive),
    tree,
  };
}

/** A tree's lines, without what is less than `least`. */
export function treeLines(tree: Branch, least: number, format: (amount: number) => string): string[] {
  const lines: string[] = [];
  const visit = ({ branches }: Branch, depth: number): void => {
    const large = [...branches].filter(([, { amount }]) => amount >= least);
    for (const [name, branch] of large.sort(([, a], [, b]) => b.amount - a.amount)) {
      lines.push(`${format(branch.amount)}  ${'  '.repeat(depth)}${name}`);
      visit(branch, depth + 1);
    }
  };
  visit(tree, 0);
  return lines;
}

interface Step {
  name: string;
  layer: string;
  /** Whether the tree has a branch for it. */
  isLandmark: boolean;
  /** Whether it is listed with all that it calls. */
  isListed: boolean;
  /** Whether it collects garbage. */
  collects: boolean;
}

const unknown: Step = {
  name: '(unknown)',
  layer: '(unknown)',
  isLandmark: false,
  isListed: false,
  collects: false,
};
const compiledName = /^(?:JS|Function|LazyCompile|Eval|Script):[~^+*]?'?(\S*) (\S+):(\d+):\d+$/;
const systemCall = /^__(?:x64|arm64)_sys_(\w+)$/;

function describe({ kind, name }: Frame, root: string): Step {
  const plain = { name, isLandmark: false, isListed: false, collects: name.includes('Heap::CollectGarbage') };
  if (kind === 'kernel') {
    const [, call] = systemCall.exec(name) ?? [];
    if (call === undefined) return { ...plain, layer: 'kernel' };
    return { ...plain, name: `system call ${call}`, layer: 'kernel', isLandmark: true, isListed: true };
  }
  if (kind === 'library') {
    return {
      ...plain,
      layer: name.startsWith('Builtins_') ? 'built-in functions of V8' : 'C++ of Node and V8',
    };
  }
  const [, functionName = '', url, line] = compiledName.exec(name) ?? [];
  if (url === undefined) return { ...plain, layer: 'other compiled code' };
  const node = { callFrame: { functionName, url, lineNumber: Number(line) - 1 } };
  const layer = moduleOf(node, root);
  return {
    name: functionOf(node, root),
    layer,
    isLandmark: true,
    isListed: layer.includes('/src/'),
    collects: false,
  };
}

const job = /^v8::internal::(.*)::Run(?:Impl)?$/;

/** What a stack is about, whatever function it ends in. */
function placeOf(thread: string, steps: readonly Step[]): string | undefined {
  if (thread === 'main') return steps.some(({ collects }) => collects) ? 'garbage collection' : undefined;
  const [, what = 'other work'] = steps.map(({ name }) => job.exec(name)).findLast((found) => found) ?? [];
  return `thread ${thread}: ${what}`;
}

function grow(tree: Branch, path: readonly string[], amount: number): void {
  tree.amount += amount;
  let branch = tree;
  for (const name of path) {
    let next = branch.branches.get(name);
    if (!next) {
      next = { amount: 0, branches: new Map() };
      branch.branches.set(name, next);
    }
    next.amount += amount;
    branch = next;
  }
}
