import { parseArgs } from 'node:util';
import { repository } from './gateway.ts';
import { admissions } from './micro/admission.ts';
import { machine, relay } from './micro/answers.ts';
import { decoder, encoders } from './micro/codecs.ts';
import { frames, publisher } from './micro/frames.ts';
import { measureSubject, type Subject } from './micro/subject.ts';

const subjects: readonly Subject[] = [...encoders, decoder, frames, publisher, machine, relay, ...admissions];

const { values } = parseArgs({
  options: {
    /** Another checkout. */
    root: { type: 'string', default: repository },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const wanted = values.only?.split(',');
for (const subject of subjects) {
  if (wanted && !wanted.includes(subject.name)) continue;
  const cost = await measureSubject(subject, values.root);
  if (values.json) process.stdout.write(`${JSON.stringify(cost)}\n`);
  else {
    const facts = Object.entries(cost.facts).map(([name, value]) => `, ${value.toFixed(2)} ${name}`);
    const us = (cost.cpuNs / 1000).toFixed(2).padStart(9);
    process.stdout.write(`${cost.name.padEnd(20)}${us} µs of CPU per ${cost.unit}${facts.join('')}\n`);
  }
}
process.exit(0);
