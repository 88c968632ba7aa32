import { parseArgs } from 'node:util';
import { knownNames, oneOf, wholeNumber } from '../support/command-line.ts';
import { type RedisWay, redisWays } from './contenders/gateway.ts';

/** What the user asked the benchmark for. */
export interface Flags {
  /** Short loads, one round: shows that the benchmark runs, but its figures are not to be judged by. */
  quick: boolean;
  /** Names of scenarios; empty means all. */
  only: string[];
  /** Other gateways. */
  urls: { name: string; url: string; key?: string; headers: string[] }[];
  /** Whether the gateway's hops are measured by themselves, too. */
  hops: boolean;
  /** Port of the fake upstream; 0: any that is free. */
  upstreamPort: number;
  rounds: number;
  /** Streams of the endurance check; absent: not asked for. */
  check?: number;
  pastSaturation: boolean;
  /** How the gateway reaches its Redis. */
  redis: RedisWay;
  /** Where results are written. */
  output: string;
  help: boolean;
}

const usage = `npm run bench -- [flags]

  (none)               every scenario: direct, nginx where installed, the gateway; the table of goals
  --only NAME,…        only these scenarios, by their names below
  --hops               the gateway's hops alone, too: two processes and a Redis that pass bytes on
  --url NAME=URL[#KEY] another gateway, before the fake upstream (repeatable); of one on this machine the
                       CPU time of who listens there is measured
  --header NAME:HEADER=VALUE   sent to that gateway with every request (repeatable)
  --upstream-port N    port of the fake upstream, so that other gateways can be told of it (any)
  --rounds N           rounds of all contenders, interleaved (3)
  --redis WAY          socket: by its Unix socket, as npm start has it; or tcp (socket)
  --quick              short loads, one round: to see that it runs, not to judge
  --check N            N concurrent paced streams, every text verified; idle streams in 1 GiB
  --past-saturation    loads of 1.5 and 3 times the capacity, with the plot
  --output FOLDER      results in JSON and HTML (reports/bench)

npm run bench:micro                        frames, admission, relay and attempts by themselves
npm run bench:compare -- REV_A REV_B       two commits in one run, with a verdict; . is the checkout as it is
npm run bench:profile                      where the CPU time of ingress and worker goes
`;

/** What `--help` says. */
export function describeFlags(scenarios: readonly { name: string; title: string }[]): string {
  const names = scenarios.map(({ name, title }) => `  ${name.padEnd(10)} ${title}\n`);
  return `${usage}\nScenarios:\n${names.join('')}`;
}

/** Reads the flags; `scenarios` are all that exist. Throws a sentence about the first wrong flag. */
export function parseFlags(words: readonly string[], scenarios: readonly { name: string }[]): Flags {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: 'boolean' },
      only: { type: 'string' },
      hops: { type: 'boolean' },
      url: { type: 'string', multiple: true },
      header: { type: 'string', multiple: true },
      'upstream-port': { type: 'string' },
      rounds: { type: 'string' },
      check: { type: 'string' },
      'past-saturation': { type: 'boolean' },
      redis: { type: 'string', default: 'socket' },
      output: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  refuseIdle(values);
  const quick = values.quick ?? false;
  return {
    quick,
    only: knownNames(
      values.only?.split(',').filter(Boolean) ?? [],
      scenarios.map(({ name }) => name),
    ),
    hops: values.hops ?? false,
    urls: parseContenders(values.url ?? [], values.header ?? []),
    upstreamPort:
      values['upstream-port'] === undefined ? 0 : wholeNumber('upstream-port', values['upstream-port']),
    rounds: wholeNumber('rounds', values.rounds ?? (quick ? '1' : '3')),
    ...(values.check !== undefined && { check: wholeNumber('check', values.check) }),
    pastSaturation: values['past-saturation'] ?? false,
    redis: oneOf('redis', values.redis, redisWays),
    output: values.output ?? 'reports/bench',
    help: values.help ?? false,
  };
}

/** Refuses flags that would have no effect: `--check` and `--past-saturation` are runs of their own. */
function refuseIdle(values: Readonly<Record<string, unknown>>): void {
  const ofScenarios = ['only', 'hops', 'url', 'header', 'upstream-port', 'rounds'];
  const idle: Readonly<Record<string, readonly string[]>> = {
    check: ['past-saturation', 'quick', ...ofScenarios],
    'past-saturation': ofScenarios,
  };
  for (const [run, names] of Object.entries(idle)) {
    const found = values[run] === undefined ? undefined : names.find((name) => values[name] !== undefined);
    if (found !== undefined) throw new Error(`--${found} changes nothing of --${run}`);
  }
}

function parseContenders(urls: readonly string[], headers: readonly string[]): Flags['urls'] {
  const contenders = urls.map(parseContender);
  for (const header of headers) {
    const [, name, rest] = /^([^:]+):([^=]+=.*)$/.exec(header) ?? [];
    if (name === undefined || rest === undefined) throw new Error('--header is written as name:header=value');
    const contender = contenders.find((each) => each.name === name);
    if (!contender) throw new Error(`--header is for ${name}, which no --url names`);
    contender.headers.push(rest);
  }
  return contenders;
}

function parseContender(text: string): Flags['urls'][number] {
  const [, name, url, key] = /^([^=]+)=(https?:[^#]+)(?:#(.+))?$/.exec(text) ?? [];
  if (name === undefined || url === undefined)
    throw new Error('--url is written as name=http://host:port[#key]');
  return { name, url, ...(key !== undefined && { key }), headers: [] };
}
