import { parseArgs } from 'node:util';
import { SluiceError } from '@sluice/canonical';
import { parseRedisAddress } from '@sluice/transport';
import { upstreamKeyName } from './upstream-settings.ts';

/** What the user asked of `npm start`. */
export interface Flags {
  /** Of the first ingress; the next ones follow it. */
  port: number;
  ingresses: number;
  workers: number;
  /** Of each ingress and each worker; those of an ingress share its port. */
  processes: number;
  /** Absent means REDIS_URL, else one that is started here. */
  redis?: string;
  /** A settings file. Absent means the simulated model. */
  config?: string;
  /** A chat-completions server whose models are served, too. */
  upstream?: string;
  upstreamKey?: string;
  /** A model file that the workers evaluate themselves, too. */
  gguf?: string;
  /** One line of JSON on stdout instead of words for people. */
  json: boolean;
  help: boolean;
}

export const helpText = `npm start -- [flags]

  --port N             port of the first ingress, the next ones follow it (8080)
  --ingresses N        ingress processes (1)
  --workers N          worker processes (1)
  --processes N        processes of each, an ingress's on one port (SLUICE_PROCESSES, else 1)
  --redis URL          use this Redis (REDIS_URL, else one is started)
  --config FILE        settings of pools, models and aliases (the simulated model)
  --upstream URL       serve the models of a chat-completions server, as http://127.0.0.1:8000/v1
  --upstream-key KEY   credential for it (${upstreamKeyName})
  --gguf FILE          serve a model file from within the workers, by llama.cpp
  --json               print one line of JSON on stdout once everything serves; logs go to stderr
  --help               print this

Ctrl-C stops everything. SLUICE_HOST=0.0.0.0 serves other machines; SLUICE_LOG_LEVEL=info logs every request.
`;

/** Reads the flags. Throws `invalid-request` with one sentence about the first that is wrong. */
export function parseFlags(words: readonly string[], environment: NodeJS.ProcessEnv): Flags {
  const { values } = parse(words);
  const sources = (['config', 'upstream', 'gguf'] as const).filter((name) => values[name] !== undefined);
  if (sources.length > 1) {
    const named = sources.map((name) => `--${name}`).join(' and ');
    throw usage(`${named} exclude each other: a settings file can name several backends`);
  }
  const upstreamKey = values['upstream-key'] ?? environment[upstreamKeyName];
  const ingresses = parseCount('--ingresses', values.ingresses ?? '1', 64);
  return {
    port: parseCount('--port', values.port ?? '8080', 65_536 - ingresses),
    ingresses,
    workers: parseCount('--workers', values.workers ?? '1', 64),
    processes: parseProcesses(values.processes, environment.SLUICE_PROCESSES),
    ...(values.redis === undefined ? {} : { redis: parseRedis(values.redis) }),
    ...(values.config === undefined ? {} : { config: values.config }),
    ...(values.upstream === undefined ? {} : { upstream: parseUpstream(values.upstream) }),
    ...(upstreamKey ? { upstreamKey } : {}),
    ...(values.gguf === undefined ? {} : { gguf: values.gguf }),
    json: values.json ?? false,
    help: values.help ?? false,
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        port: { type: 'string' },
        ingresses: { type: 'string' },
        workers: { type: 'string' },
        processes: { type: 'string' },
        redis: { type: 'string' },
        config: { type: 'string' },
        upstream: { type: 'string' },
        'upstream-key': { type: 'string' },
        gguf: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : 'they make no sense';
    throw usage(`${reason.split('. ')[0]}; see npm start -- --help`, thrown);
  }
}

function parseProcesses(flag: string | undefined, variable: string | undefined): number {
  if (flag !== undefined) return parseCount('--processes', flag, 64);
  return parseCount('SLUICE_PROCESSES', variable || '1', 64);
}

function parseCount(name: string, text: string, most: number): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= most) return count;
  throw usage(`${name} must be a whole number from 1 to ${most}`);
}

function parseRedis(text: string): string {
  try {
    parseRedisAddress(text);
    return text;
  } catch (thrown) {
    throw usage(`--redis: ${thrown instanceof SluiceError ? thrown.message : 'is no URL'}`, thrown);
  }
}

function parseUpstream(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, '');
  throw usage('--upstream must be a URL such as http://127.0.0.1:8000/v1');
}

function usage(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid-request', message, { cause });
}
