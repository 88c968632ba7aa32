import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SluiceError } from '@sluice/canonical';
import { type Environment, parseEnvironment } from '@sluice/runtime';
import { parseRedisAddress } from '@sluice/transport';
import { startEnvironment } from './config.ts';
import { assertPortsApart, type PortChoice } from './ports.ts';
import { upstreamKeyName } from './upstream-settings.ts';

/** What the user asked `npm start` for, by flags and in the environment. */
export interface Flags extends PortChoice {
  /** Absent: one is started here. */
  redis?: string;
  /** Absent: the one in the state folder. */
  keySecret?: string;
  drainLimitMs: number;
  logLevel: string;
  /** A settings file. Absent: the simulated model alone. */
  config?: string;
  /** A chat-completions server whose models are served beside the simulated one. */
  upstream?: string;
  upstreamKey?: string;
  /** A model file that the workers evaluate themselves, beside the simulated model. */
  gguf?: string;
  /** One line of JSON on stdout instead of words for people. */
  json: boolean;
  help: boolean;
}

export const helpText = `npm start -- [flags]

  --port N             port of the first ingress, the next ones follow it (SLUICE_PORT, else 8080)
  --ingresses N        ingress processes (1)
  --workers N          worker processes (1)
  --processes N        processes of each, an ingress's on one port (SLUICE_PROCESSES, else 1)
  --redis URL          use this Redis (SLUICE_REDIS_URL, REDIS_URL, else one is started)
  --config FILE        settings of pools, models and aliases (SLUICE_CONFIG, else the simulated model)
  --upstream URL       serve the models of a chat-completions server, as http://127.0.0.1:8000/v1
  --upstream-key KEY   credential for it (${upstreamKeyName})
  --gguf FILE          serve a model file from within the workers, by llama.cpp
  --json               print one line of JSON on stdout once everything serves; logs go to stderr
  --help               print this

Ctrl-C stops everything. SLUICE_HOST=0.0.0.0 serves other machines; SLUICE_LOG_LEVEL=info logs every request;
SLUICE_OPS_PORT=9464 fixes the ports of /metrics. All of the environment: docs/configuration.md.
`;

/**
 * Reads the flags, and the environment for what no flag sets. Throws `invalid-request` with one sentence about the
 * first wrong flag, or `ConfigError` with every mistake in the environment.
 */
export function parseFlags(words: readonly string[], environment: Environment): Flags {
  const { values } = parse(words);
  // A mistake in the environment may be why somebody asks for help, so it must not stop the help.
  const { values: given } = parseEnvironment(startEnvironment, values.help ? {} : environment);
  assertOneSource([
    ...(['config', 'upstream', 'gguf'] as const).flatMap((name) =>
      values[name] === undefined ? [] : `--${name}`,
    ),
    ...(values.config === undefined && given.SLUICE_CONFIG !== undefined ? ['SLUICE_CONFIG'] : []),
  ]);
  const config = values.config === undefined ? given.SLUICE_CONFIG : parseConfig(values.config);
  const upstreamKey = values['upstream-key'] ?? given[upstreamKeyName];
  const redis = values.redis === undefined ? undefined : parseRedis(values.redis);
  const redisUrl = redis ?? given.SLUICE_REDIS_URL ?? given.REDIS_URL;
  const ingresses = parseCount('--ingresses', values.ingresses ?? '1', 64);
  const workers = parseCount('--workers', values.workers ?? '1', 64);
  const processes = parseCount('--processes', values.processes ?? String(given.SLUICE_PROCESSES), 64);
  const mostOpsPort = 65_536 - (ingresses + workers) * processes;
  const ports: PortChoice = {
    port: parseCount(
      values.port === undefined ? 'SLUICE_PORT' : '--port',
      values.port ?? String(given.SLUICE_PORT),
      65_536 - ingresses,
    ),
    ingresses,
    workers,
    processes,
    host: given.SLUICE_HOST,
    opsHost: given.SLUICE_OPS_HOST,
    opsPort:
      given.SLUICE_OPS_PORT === 0
        ? 0
        : parseCount('SLUICE_OPS_PORT', String(given.SLUICE_OPS_PORT), mostOpsPort),
  };
  assertPortsApart(ports);
  return {
    ...ports,
    drainLimitMs: given.SLUICE_DRAIN_LIMIT_MS,
    logLevel: given.SLUICE_LOG_LEVEL,
    ...(redisUrl !== undefined && { redis: redisUrl }),
    ...(given.SLUICE_KEY_SECRET !== undefined && { keySecret: given.SLUICE_KEY_SECRET }),
    ...(config !== undefined && { config }),
    ...(values.upstream !== undefined && { upstream: parseUpstream(values.upstream) }),
    ...(upstreamKey && { upstreamKey }),
    ...(values.gguf !== undefined && { gguf: parseGguf(values.gguf) }),
    json: values.json ?? false,
    help: values.help ?? false,
  };
}

/** Throws if several flags or settings say what is served. */
function assertOneSource(sources: readonly string[]): void {
  if (sources.length > 1)
    throw usage(`${sources.join(' and ')} exclude each other: a settings file can name several backends`);
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
    throw usage(`${reason.split(/\.(?:\s|$)/)[0]}; see npm start -- --help`, thrown);
  }
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

function parseConfig(path: string): string {
  // An empty name would pass for none, and the simulated model would serve instead.
  if (path.trim() !== '') return path;
  throw usage('--config must be a file such as sluice.yaml');
}

function parseUpstream(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password) {
    // Neither `fetch` nor a worker reads a password from a URL, and the URL is printed.
    throw usage(`--upstream holds a password, which belongs in --upstream-key or ${upstreamKeyName}`);
  }
  if (url && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw usage('--upstream must be a URL such as http://127.0.0.1:8000/v1');
}

/** Refuses a missing file before anything is started. */
function parseGguf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  throw usage(`--gguf: there is no file ${path}`);
}

function usage(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid-request', message, { cause });
}
