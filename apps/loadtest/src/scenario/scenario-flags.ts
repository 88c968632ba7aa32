import { SluiceError } from '@sluice/canonical';
import { parseDistribution } from './distribution.ts';
import { jsonValue, timeMs } from './flag-value.ts';

/** Flags that shape a scenario, as `node:util` parses them. */
export const scenarioFlags = {
  target: { type: 'string', short: 't' },
  name: { type: 'string' },
  seed: { type: 'string' },
  duration: { type: 'string', short: 'd' },
  warmup: { type: 'string' },
  grace: { type: 'string' },
  timeout: { type: 'string' },
  requests: { type: 'string', short: 'n' },
  connections: { type: 'string' },
  processes: { type: 'string', short: 'p' },
  rate: { type: 'string', short: 'r' },
  arrivals: { type: 'string' },
  ramp: { type: 'string' },
  steps: { type: 'string' },
  trace: { type: 'string' },
  'trace-speed': { type: 'string' },
  users: { type: 'string', short: 'u' },
  think: { type: 'string' },
  pace: { type: 'string' },
  'ramp-up': { type: 'string' },
  burst: { type: 'boolean' },
  format: { type: 'string', short: 'f' },
  model: { type: 'string', short: 'm' },
  single: { type: 'boolean' },
  'stream-share': { type: 'string' },
  prompt: { type: 'string' },
  'prompt-tokens': { type: 'string' },
  'prompt-file': { type: 'string' },
  seeds: { type: 'string' },
  'output-tokens': { type: 'string' },
  body: { type: 'string' },
  'abort-share': { type: 'string' },
  'abort-after': { type: 'string' },
  'abort-after-tokens': { type: 'string' },
  'slow-share': { type: 'string' },
  'slow-rate': { type: 'string' },
  key: { type: 'string', short: 'k', multiple: true },
  header: { type: 'string', multiple: true },
  'keys-file': { type: 'string' },
  'key-pick': { type: 'string' },
  slo: { type: 'string' },
  attainment: { type: 'string' },
  verify: { type: 'string' },
  'expect-text': { type: 'string' },
  'search-from': { type: 'string' },
  'search-max': { type: 'string' },
  precision: { type: 'string' },
  beyond: { type: 'string' },
  settle: { type: 'string' },
} as const;

type Name = keyof typeof scenarioFlags;
/** The flags that were given. */
export type ScenarioFlagValues = { [N in Name]?: string | boolean | string[] | undefined };
type Fields = Record<string, unknown>;

/**
 * Lays flags over a scenario file's content: flags win, and those about traffic apply to every entry. A part of the file
 * that is none of its kind stays as it is, so that `parseScenario`, which still has to parse the result, complains of
 * it. Throws `invalid-request`.
 */
export function overlay(file: Fields, flags: ScenarioFlagValues): Fields {
  const durationMs = time('duration', flags) ?? file.durationMs;
  return {
    ...file,
    ...given({
      target: flags.target,
      name: flags.name,
      seed: number(flags.seed),
      durationMs: time('duration', flags),
      warmupMs: time('warmup', flags),
      graceMs: time('grace', flags),
      timeoutMs: time('timeout', flags),
      requests: number(flags.requests),
      maxConnections: number(flags.connections),
      processes: number(flags.processes),
      verify: flags.verify,
      expectText: flags['expect-text'],
      load: isLoad(file.load) ? load(flags, fields(file.load), durationMs) : undefined,
      traffic: traffic(flags, file.traffic),
    }),
    ...section('headers', file, headers(flags.header)),
    ...section('keys', file, { values: flags.key, file: flags['keys-file'], pick: flags['key-pick'] }),
    ...section('slo', file, { ...slo(flags.slo), attainment: number(flags.attainment) }),
    ...section('search', file, {
      fromRate: number(flags['search-from']),
      maxRate: number(flags['search-max']),
      precision: number(flags.precision),
      beyond: list(flags.beyond)?.map(number),
      settleMs: time('settle', flags),
    }),
  };
}

/** Whether flags can be laid over this load of a file; an absent one is the default. */
function isLoad(load: unknown): boolean {
  return load === undefined || loadFlags.some(({ kind }) => kind === fields(load)?.kind);
}

function load(flags: ScenarioFlagValues, file: Fields | undefined, durationMs: unknown): Fields | undefined {
  const kinds = [flags.rate, flags.ramp, flags.steps, flags.trace, flags.users].filter(
    (flag) => flag !== undefined,
  );
  if (kinds.length > 1) {
    throw new SluiceError('invalid-request', 'give one of --rate, --ramp, --steps, --trace and --users');
  }
  const kind = kindOf(flags) ?? file?.kind ?? 'open';
  refuseIdle(flags, kind);
  const same = file?.kind === kind ? file : undefined;
  refuseRivals(flags, same);
  if (kind === 'trace') {
    const values = given({ file: flags.trace, speed: number(flags['trace-speed']) });
    return merged(same, 'trace', values);
  }
  if (kind === 'closed') {
    const users = number(flags.users);
    const rampUpMs = flags.burst === true ? 0 : time('ramp-up', flags);
    const paceMs = time('pace', flags);
    return merged(same, 'closed', given({ users, thinkMs: times('think', flags), paceMs, rampUpMs }));
  }
  const values = given({ profile: rateProfile(flags, durationMs), spacing: flags.arrivals });
  return merged(same ?? { profile: { kind: 'constant', rate: 10 } }, 'open', values);
}

/** The kind of load that the flags ask for; absent if they leave it to the file. */
function kindOf(flags: ScenarioFlagValues): string | undefined {
  if (flags.trace !== undefined) return 'trace';
  if (flags.users !== undefined) return 'closed';
  return (flags.rate ?? flags.ramp ?? flags.steps) === undefined ? undefined : 'open';
}

/** Flags that apply to one kind of load only, and how that kind is asked for. */
const loadFlags: readonly { names: readonly Name[]; kind: string; asked: string }[] = [
  { names: ['think', 'pace', 'ramp-up', 'burst'], kind: 'closed', asked: '--users' },
  { names: ['trace-speed'], kind: 'trace', asked: '--trace' },
  { names: ['arrivals'], kind: 'open', asked: '--rate, --ramp and --steps' },
];

/** Refuses flags that would have no effect on this kind of load: such a flag is a mistake. */
function refuseIdle(flags: ScenarioFlagValues, kind: unknown): void {
  for (const { names, kind: own, asked } of loadFlags) {
    const idle = names.find((name) => flags[name] !== undefined);
    if (idle === undefined || own === kind) continue;
    throw new SluiceError('invalid-request', `--${idle} goes with ${asked}`);
  }
}

/** Refuses flags that contradict each other: a pace excludes thinking and a ramp-up, a burst excludes a slow start. */
function refuseRivals(flags: ScenarioFlagValues, file: Fields | undefined): void {
  const starts = (['think', 'ramp-up', 'burst'] as const).filter((name) => flags[name] !== undefined);
  const rivals =
    (flags.pace ?? file?.paceMs) === undefined
      ? starts.filter((name) => name !== 'think')
      : ['pace', ...starts];
  if (rivals.length > 1)
    throw new SluiceError(
      'invalid-request',
      `give one of ${rivals.map((name) => `--${name}`).join(' and ')}`,
    );
}

function merged(base: Fields | undefined, kind: string, values: Fields): Fields | undefined {
  return Object.keys(values).length === 0 ? undefined : { ...base, kind, ...values };
}

function rateProfile(flags: ScenarioFlagValues, durationMs: unknown): Fields | undefined {
  if (flags.rate !== undefined) return { kind: 'constant', rate: number(flags.rate) };
  if (flags.ramp !== undefined) {
    const [from, to, ...rest] = String(flags.ramp).split('..').map(number);
    if (to === undefined || rest.length > 0)
      throw new SluiceError('invalid-request', '--ramp goes from a rate to another: A..B');
    return { kind: 'ramp', from, to, overMs: durationMs ?? '30s' };
  }
  const steps = list(flags.steps)?.map((step) => {
    const [rate, forMs, ...rest] = step.split('x');
    if (rate === '' || rest.length > 0)
      throw new SluiceError('invalid-request', `--steps is a list such as 100x30s,200x30s, not ${step}`);
    return {
      rate: number(rate),
      forMs: forMs === undefined ? (durationMs ?? '30s') : timeMs('steps', forMs),
    };
  });
  return steps && { kind: 'steps', steps };
}

function traffic(flags: ScenarioFlagValues, file: unknown = [{}]): unknown[] | undefined {
  const prompt = given({
    template: flags.prompt,
    tokens: flags['prompt-tokens'],
    file: flags['prompt-file'],
    seeds: number(flags.seeds),
  });
  const abort = given({
    share: number(flags['abort-share']),
    afterTokens: flags['abort-after-tokens'],
    afterMs: times('abort-after', flags),
  });
  const slow = given({ share: number(flags['slow-share']), bytesPerSecond: number(flags['slow-rate']) });
  if (flags.single === true && flags['stream-share'] !== undefined) {
    throw new SluiceError('invalid-request', 'give one of --single and --stream-share');
  }
  const changes = given({
    model: flags.model,
    streamShare: flags.single === true ? 0 : number(flags['stream-share']),
    outputTokens: flags['output-tokens'],
    body: flags.body === undefined ? undefined : jsonValue('body', String(flags.body)),
  });
  const formats = list(flags.format) ?? [undefined];
  if (flags.format === undefined && Object.keys({ ...prompt, ...abort, ...slow, ...changes }).length === 0)
    return undefined;
  if (!Array.isArray(file)) return undefined;
  const changed = (entry: unknown, format: string | undefined) => {
    const own = fields(entry);
    if (!own) return entry;
    return {
      ...own,
      ...given({ ...changes, format }),
      ...section('prompt', own, prompt),
      ...section('abort', own, abort),
      ...section('slow', own, slow),
    };
  };
  return formats.flatMap((format) => file.map((entry) => changed(entry, format)));
}

/** `NAME=VALUE` each. */
function headers(flag: unknown): Fields {
  const pairs = (Array.isArray(flag) ? flag : []).map((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(String(text)) ?? [];
    if (name === undefined) throw new SluiceError('invalid-request', '--header is NAME=VALUE');
    return [name.toLowerCase(), value] as const;
  });
  return Object.fromEntries(pairs);
}

const sloNames: Readonly<Record<string, string>> = { ttft: 'ttftMs', tpot: 'tpotMs', e2e: 'endToEndMs' };

/** `ttft=500ms,tpot=50ms,e2e=10s`. */
function slo(flag: unknown): Fields {
  const pairs = (list(flag) ?? []).map((part) => {
    const [name = '', bound, ...rest] = part.split(/<=|=/).map((piece) => piece.trim());
    const field = sloNames[name];
    if (!field || !bound || rest.length > 0)
      throw new SluiceError('invalid-request', `not a bound of ttft, tpot or e2e: ${part}`);
    return [field, timeMs('slo', bound)] as const;
  });
  return Object.fromEntries(pairs);
}

/** A part of the scenario with its flags laid over it; empty if no flag was given, or the part can't be laid over. */
function section(name: string, file: Fields, flags: Fields): Fields {
  const changes = given(flags);
  const own = fields(file[name] === undefined ? {} : file[name]);
  return !own || Object.keys(changes).length === 0 ? {} : { [name]: { ...own, ...changes } };
}

function given(values: Fields): Fields {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function fields(value: unknown): Fields | undefined {
  // An object with unknown fields; the schema checks each of them later.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function list(flag: unknown): string[] | undefined {
  return typeof flag === 'string' ? flag.split(',') : undefined;
}

/** The number of a flag. NaN if it is none, which the schema then reports with the field's name. */
function number(flag: unknown): number | undefined {
  if (flag === undefined) return undefined;
  return String(flag).trim() === '' ? Number.NaN : Number(flag);
}

/** Milliseconds of a flag that is a time. */
function time(name: Name, flags: ScenarioFlagValues): number | undefined {
  const flag = flags[name];
  return flag === undefined ? undefined : timeMs(name, String(flag));
}

/** A flag that is a distribution of times, each with its unit. */
function times(name: Name, flags: ScenarioFlagValues): unknown {
  const flag = flags[name];
  if (flag !== undefined) parseDistribution(String(flag), (text) => timeMs(name, text));
  return flag;
}
