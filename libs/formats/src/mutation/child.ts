import { registerHooks } from 'node:module';
import type { Question } from './questions.ts';

/*
 * Runs in a copy of the sources in which every mutant sleeps behind a switch. Takes a folder and the ids on the
 * command line; prints a line per mutant: its id, a dot now and then while it works, and `noticed`, `missed`, `static`
 * (it acts while modules load: only a process of its own can tell) or `again` (an earlier mutant left traces).
 * With a mutant switched on from the start by the environment it prints dots and `noticed` or `missed`.
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

const collector = new URL('./test-collector.ts', import.meta.url).href;
registerHooks({
  resolve: (name, context, next) =>
    next(name === 'vitest' && context.parentURL !== collector ? collector : name, context),
});

// The name and the shape that the instrumenter gives to its switches.
const world = globalThis as { __stryker__?: Switches };
world.__stryker__ ??= {};
const switches = world.__stryker__;
const [folder = '', ids = ''] = process.argv.slice(2);
const { findWrong, questionsAbout } = await import('./questions.ts');
const questions = await questionsAbout(folder);
const dotEveryMs = 1_000;
const hitsBeyondReason = 100_000;
let saidAt = performance.now();

function say(text: string): void {
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

/** Which questions reach which mutant, the quickest to answer first. */
async function findAskers(): Promise<Map<string, Question[]>> {
  const costs = new Map<string, number>();
  for (const [index, question] of questions.entries()) {
    switches.currentTestId = String(index);
    const askedAt = performance.now();
    if (await ask([question])) throw new TypeError(`the unchanged sources fail question ${index}`);
    costs.set(String(index), performance.now() - askedAt);
  }
  switches.currentTestId = undefined;
  const askers = new Map<string, Question[]>();
  const covered = Object.entries(switches.mutantCoverage?.perTest ?? {});
  covered.sort(([left], [right]) => (costs.get(left) ?? 0) - (costs.get(right) ?? 0));
  for (const [index, reached] of covered) {
    const question = questions[Number(index)];
    if (!question) continue;
    for (const id of Object.keys(reached)) {
      const known = askers.get(id);
      if (known) known.push(question);
      else askers.set(id, [question]);
    }
  }
  return askers;
}

async function decideEach(): Promise<void> {
  const atLoad = new Set(Object.keys(switches.mutantCoverage?.static ?? {}));
  const askers = await findAskers();
  for (const [index, id] of ids.split(',').entries()) {
    say(`${id} `);
    switches.activeMutant = id;
    const wrong = await ask(askers.get(id) ?? []);
    switches.activeMutant = undefined;
    if (wrong === undefined) say(atLoad.has(id) ? 'static\n' : 'missed\n');
    else if ((await ask([wrong])) === undefined) say('noticed\n');
    else {
      // The change outlives its switch. The first mutant of a process did that itself; another must be asked anew.
      say(index === 0 ? 'noticed\n' : 'again\n');
      process.exit();
    }
  }
}

switches.hitLimit = hitsBeyondReason;
if (switches.activeMutant === undefined) await decideEach();
else say((await ask(questions)) === undefined ? 'missed' : 'noticed');
process.exit();
