import { isNoticed, questionsAbout } from './decide.ts';

/*
 * Runs in a copy of the sources in which every mutant sleeps behind a switch. Takes the format and the ids on the
 * command line; prints a line per mutant: its id and `noticed`, `missed` or `static`.
 */

interface Switches {
  activeMutant?: string | undefined;
  mutantCoverage?: { static: Record<string, number> };
}

// The name and the shape that the instrumenter gives to its switches.
const known = globalThis as { __stryker__?: Switches };
known.__stryker__ ??= {};
const switches = known.__stryker__;
const [format = '', ids = ''] = process.argv.slice(2);
const atLoad = new Set(Object.keys(switches.mutantCoverage?.static ?? {}));
const questions = questionsAbout(format);
if (isNoticed(questions)) throw new TypeError('the unchanged sources are not in order');
// The first time warms up; the second tells the parent how long an unnoticed mutant takes.
const startedAt = performance.now();
isNoticed(questions);
process.stdout.write(`ready ${Math.round(performance.now() - startedAt)}\n`);
for (const id of ids.split(',')) {
  process.stdout.write(`${id} `);
  switches.activeMutant = id;
  const verdict = isNoticed(questions) ? 'noticed' : atLoad.has(id) ? 'static' : 'missed';
  switches.activeMutant = undefined;
  process.stdout.write(`${verdict}\n`);
}
