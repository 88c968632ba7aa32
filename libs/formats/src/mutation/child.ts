import { registerHooks } from 'node:module';
import type { Question } from './questions.ts';

/*
 * Runs in a copy of the sources in which every mutant is inactive behind a switch. Takes a folder and mutant ids on the
 * command line. Prints a line per mutant: its id, a dot now and then while it works, and `noticed`, `missed` or `again`
 * (an earlier mutant left traces). Ends early when reloaded modules have filled its memory.
 */

interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  /** An active mutant throws when it is reached more often than this: that is how most endless loops end. */
  hitCount?: number;
  hitLimit?: number;
  mutantCoverage?: {
    static: Record<string, number>;
    perTest: Record<string, Record<string, number>>;
  };
}

const standIns = new Map([
  ['vitest', new URL('./test-collector.ts', import.meta.url).href],
  ['fast-check', new URL('./test-properties.ts', import.meta.url).href],
]);
const sources = new URL('..', import.meta.url).href;
/** Above zero, every module of the package is loaded again. */
let generation = 0;
registerHooks({
  resolve: (name, context, next) => {
    const standIn = standIns.get(name);
    const isAsked = standIn !== undefined && !context.parentURL?.startsWith(standIn);
    const resolved = next(isAsked ? standIn : name, context);
    const isOurs = generation > 0 && resolved.url.startsWith(sources);
    return isOurs ? { ...resolved, url: `${resolved.url}?${generation}` } : resolved;
  },
});

// Safe to cast: the instrumenter gives its switches this name and shape.
const world = globalThis as { __stryker__?: Switches };
world.__stryker__ ??= {};
const switches = world.__stryker__;
const [folder = '', ids = ''] = process.argv.slice(2);
const { findWrong, questionsAbout } = await import('./questions.ts');
const questions = await questionsAbout(folder);
const mostGenerations = 60;
const dotEveryMs = 1_000;
const hitsBeyondReason = 100_000;
let saidAt = performance.now();
const parent = process.ppid;

function say(text: string): void {
  // A child without a parent must end itself here: it never returns to the event loop, which would report a closed
  // pipe.
  if (process.ppid !== parent) process.exit(1);
  process.stdout.write(text);
  saidAt = performance.now();
}

/** The first question with a wrong answer; see `findWrong`. */
async function ask(asked: readonly Question[]): Promise<Question | undefined> {
  for (const question of asked) {
    switches.hitCount = 0;
    if (performance.now() - saidAt > dotEveryMs) say('.');
    if (await findWrong([question])) return question;
  }
  return undefined;
}

/** Milliseconds that each question takes, in order. It also records which questions reach each mutant. */
async function measureCosts(): Promise<number[]> {
  const costs: number[] = [];
  for (const [index, question] of questions.entries()) {
    switches.currentTestId = String(index);
    const askedAt = performance.now();
    if (await ask([question])) throw new TypeError(`the unchanged sources fail question ${index}`);
    costs.push(performance.now() - askedAt);
  }
  switches.currentTestId = undefined;
  return costs;
}

/** The indices of the questions that reach each mutant, quickest first. */
function findAskers(quickestFirst: readonly number[]): Map<string, number[]> {
  const askers = new Map<string, number[]>();
  for (const index of quickestFirst) {
    for (const id of Object.keys(switches.mutantCoverage?.perTest[index] ?? {})) {
      const known = askers.get(id);
      if (known) known.push(index);
      else askers.set(id, [index]);
    }
  }
  return askers;
}

/** The index of the first question that gets a wrong answer while this mutant is active. */
async function findNoticing(
  id: string,
  indices: readonly number[],
  of: readonly Question[],
): Promise<number | undefined> {
  switches.activeMutant = id;
  for (const index of indices) {
    const question = of[index];
    if (!question || !(await ask([question]))) continue;
    switches.activeMutant = undefined;
    return index;
  }
  switches.activeMutant = undefined;
  return undefined;
}

/** As `findNoticing`, with modules that are loaded while the mutant is active; -1 if they cannot be loaded. */
async function findNoticingAtLoad(id: string, indices: readonly number[]): Promise<number | undefined> {
  generation += 1;
  switches.activeMutant = id;
  try {
    const { questionsAbout: about } = await import('./questions.ts');
    return await findNoticing(id, indices, await about(folder));
  } catch {
    return -1;
  } finally {
    switches.activeMutant = undefined;
  }
}

async function decideEach(): Promise<void> {
  const atLoad = new Set(Object.keys(switches.mutantCoverage?.static ?? {}));
  const costs = await measureCosts();
  const quickestFirst = [...costs.keys()].sort((left, right) => (costs[left] ?? 0) - (costs[right] ?? 0));
  const askers = findAskers(quickestFirst);
  const chosen = ids.split(',');
  // No mutant has this id, so none is active. It makes sure that loading again does not break anything by itself, which
  // would count for the mutants.
  if (chosen.some((id) => atLoad.has(id)) && (await findNoticingAtLoad('none', quickestFirst)) !== undefined)
    throw new TypeError('the unchanged sources fail when they are loaded again');
  for (const [at, id] of chosen.entries()) {
    say(`${id} `);
    let index = await findNoticing(id, askers.get(id) ?? [], questions);
    if (index === undefined && atLoad.has(id)) index = await findNoticingAtLoad(id, quickestFirst);
    const question = index === undefined ? undefined : questions[index];
    if (index === undefined) say('missed\n');
    else if (question === undefined || (await ask([question])) === undefined) say('noticed\n');
    else {
      // The change outlives its switch. If this is the first mutant of the process, it caused that itself; any other
      // must be judged again in a new process.
      say(at === 0 ? 'noticed\n' : 'again\n');
      return;
    }
    if (generation === mostGenerations) return;
  }
}

switches.hitLimit = hitsBeyondReason;
await decideEach();
process.exit();
