import { registerHooks } from 'node:module';
import type { Question } from './questions.ts';

/*
 * Runs in a copy of the sources in which every mutant sleeps behind a switch. Takes a folder and the ids on the
 * command line; prints a line per mutant: its id, a dot now and then while it works, and `noticed`, `missed` or `again`
 * (an earlier mutant left traces). Ends early where its memory is full of modules that were loaded again.
 */

interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  /** An active mutant throws when it is reached more often than the limit: that is how most endless loops end. */
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
/** Above zero every module of the package is loaded again. */
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

// The name and the shape that the instrumenter gives to its switches.
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
  // No turn of the loop comes in which a closed pipe or channel would be told: nobody else ends a child without a parent.
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

/** Milliseconds that each question takes, in their order; also lets every mutant know which questions reach it. */
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

/** The questions that reach each mutant, as indices, the quickest to answer first. */
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

/** The index of the first question that is answered wrongly while this mutant is awake. */
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

/** As `findNoticing`, with modules that were loaded while the mutant was awake; -1 where they don't load. */
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
  // Awake is no mutant of this id. Else whatever loading again breaks by itself would count for the mutants.
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
      // The change outlives its switch. The first mutant of a process did that itself; another must be asked anew.
      say(at === 0 ? 'noticed\n' : 'again\n');
      return;
    }
    if (generation === mostGenerations) return;
  }
}

switches.hitLimit = hitsBeyondReason;
await decideEach();
process.exit();
