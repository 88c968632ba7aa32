import { isNoticed, type Question, questionsAbout } from './decide.ts';

/*
 * Runs in a copy of the sources in which every mutant sleeps behind a switch. Takes the format and the ids on the
 * command line; prints how long all questions take, then a line per mutant: its id and `noticed`, `missed` or
 * `static`.
 */

interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: {
    static: Record<string, number>;
    perTest: Record<string, Record<string, number>>;
  };
}

// The name and the shape that the instrumenter gives to its switches.
const known = globalThis as { __stryker__?: Switches };
known.__stryker__ ??= {};
const switches = known.__stryker__;
const [format = '', ids = ''] = process.argv.slice(2);
const atLoad = new Set(Object.keys(switches.mutantCoverage?.static ?? {}));
const questions = questionsAbout(format);
const askers = new Map<string, Question[]>();

for (const [index, question] of questions.entries()) {
  switches.currentTestId = String(index);
  if (isNoticed([question])) throw new TypeError('the unchanged sources are not in order');
}
switches.currentTestId = undefined;
for (const [index, covered] of Object.entries(switches.mutantCoverage?.perTest ?? {})) {
  const question = questions[Number(index)];
  for (const id of Object.keys(covered)) {
    if (question) askers.set(id, [...(askers.get(id) ?? []), question]);
  }
}
// Warm by now: this is how long a mutant takes that everything reaches and nothing notices.
const startedAt = performance.now();
isNoticed(questions);
process.stdout.write(`ready ${Math.round(performance.now() - startedAt)}\n`);

for (const id of ids.split(',')) {
  process.stdout.write(`${id} `);
  switches.activeMutant = id;
  const verdict = isNoticed(askers.get(id) ?? []) ? 'noticed' : atLoad.has(id) ? 'static' : 'missed';
  switches.activeMutant = undefined;
  process.stdout.write(`${verdict}\n`);
}
