import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { knownNames, readCommandLine } from '../support/command-line.ts';
import { repository } from '../support/repository.ts';
import { admissions } from './micro/admission.ts';
import { machine, relay } from './micro/answers.ts';
import { chunks, decoder, encoders } from './micro/codecs.ts';
import { frames, publisher } from './micro/frames.ts';
import { nodeRequests, plainRequests } from './micro/plain-requests.ts';
import { measureSubject, type Subject } from './micro/subject.ts';

const subjects: readonly Subject[] = [
  ...encoders,
  ...[chunks, decoder, frames, publisher, machine, relay, nodeRequests, plainRequests],
  ...admissions,
];

const help = `npm run bench:micro -- [flags]

  --only NAME     only this one (repeatable): ${subjects.map(({ name }) => `"${name}"`).join(', ')}
  --root FOLDER   another checkout
  --json          a line of JSON for each, without what is not ours; of one that failed, cpuNs is null
  --stepwise      each when a line comes in, until the input ends
`;
const words = readCommandLine(help, () => {
  const { values } = parseArgs({
    options: {
      root: { type: 'string', default: repository },
      only: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      stepwise: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const names = subjects.map(({ name }) => name);
  return { ...values, only: knownNames(values.only ?? names, names) };
});
const demands = words.stepwise
  ? createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  : undefined;
for (const subject of subjects) {
  if (!words.only.includes(subject.name)) continue;
  if (words.json && subject.isReference) continue;
  if ((await demands?.next())?.done) break;
  const cost = await measureSubject(subject, words.root).catch((error: Error) => {
    process.stderr.write(`${subject.name}: ${error.message}\n`);
  });
  if (!cost) {
    // The others can still be measured, and whoever compares has to know of this one.
    if (words.json) process.stdout.write(`${JSON.stringify({ name: subject.name, cpuNs: null })}\n`);
    else process.exitCode = 1;
    continue;
  }
  if (words.json) process.stdout.write(`${JSON.stringify(cost)}\n`);
  else {
    const facts = Object.entries(cost.facts).map(([name, value]) => `, ${value.toFixed(2)} ${name}`);
    const us = (cost.cpuNs / 1000).toFixed(2).padStart(9);
    process.stdout.write(`${cost.name.padEnd(20)}${us} µs of CPU per ${cost.unit}${facts.join('')}\n`);
  }
}
process.exit();
