import { parseArgs } from 'node:util';
import { readCommandLine } from '../support/command-line.ts';
import { check } from './checker/checker.ts';
import { createSoundLog, seededBugs } from './checker/seeded-bugs.ts';

const help = `Puts every seeded bug into the log of a sound run and tells whether the checker of the fault run catches it.
It has no flags but --help.
`;

readCommandLine(help, () => parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values);

let missed = check(createSoundLog()).length;
process.stdout.write(`a sound run: ${missed} violations\n`);
for (const { name, caughtAs, doctor } of seededBugs) {
  const log = createSoundLog();
  doctor(log);
  const found = check(log).find(({ kind }) => kind === caughtAs);
  if (!found) missed += 1;
  process.stdout.write(`${found ? 'caught' : 'MISSED'}  ${name}\n`);
  if (found) process.stdout.write(`        invariant ${found.invariant}, ${found.kind}: ${found.detail}\n`);
}
process.exitCode = missed === 0 ? 0 : 1;
