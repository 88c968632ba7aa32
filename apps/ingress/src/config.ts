import { durationMs, logLevels, type Ports, port, secretText, wholeNumber } from '@sluice/runtime';
import { redisSchemes, redisUrl, usualRedis } from '@sluice/transport';
import { z } from 'zod';

/**
 * The variable in which the supervisor numbers the processes under it, from 0. A process that has it shares its port.
 */
export const processSeat = 'SLUICE_PROCESS_SEAT';

/** The environment of an ingress process. Durations are milliseconds. */
export const ingressEnvironment = z.object({
  SLUICE_REDIS_URL: redisUrl().default(usualRedis).describe(`Redis: ${redisSchemes}`),
  SLUICE_KEY_SECRET: secretText()
    .min(16)
    .describe(
      'Secret of the keyed hashes under which API keys are stored; the same for every ingress and the CLI',
    ),
  SLUICE_CONFIG: z
    .string()
    .optional()
    .describe(
      'Settings file (YAML or JSON) with pools, models and aliases; absent: the built-in simulated model',
    ),
  SLUICE_HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  SLUICE_PORT: port().default(8080).describe('Port of the API; 0 lets the system choose'),
  SLUICE_OPS_HOST: z.string().default('127.0.0.1').describe('Address of /livez, /readyz and /metrics'),
  SLUICE_OPS_PORT: port()
    .default(9464)
    .describe('Port of /livez, /readyz and /metrics; 0 lets the system choose'),
  SLUICE_PROCESSES: wholeNumber({ min: 1, max: 64 })
    .default(1)
    .describe(
      'Processes that share the port of the API; their operations ports are consecutive, and each has to be scraped',
    ),
  SLUICE_PROCESS_SEAT: wholeNumber()
    .optional()
    .describe('Set by the supervisor for the processes under it; not for operators'),
  SLUICE_LOG_LEVEL: z.enum(logLevels).default('info').describe('Least severe log line that is written'),
  SLUICE_KEEP_ALIVE_MS: durationMs({ min: 100 })
    .default(10_000)
    .describe(
      'Silence after which an open stream gets a keep-alive; also how long the status line is withheld',
    ),
  SLUICE_REQUEST_TIMEOUT_MS: durationMs({ min: 100 })
    .default(600_000)
    .describe('Deadline of a request whose model sets none'),
  SLUICE_STALL_LIMIT_MS: durationMs({ min: 100 })
    .default(30_000)
    .describe('How long a client may read nothing while data waits for it, before it is dropped'),
  SLUICE_LOOP_DELAY_LIMIT_MS: durationMs()
    .default(1_000)
    .describe(
      'Delay of the event loop beyond which a growing share of new requests is refused with 429; a request meets ' +
        'this delay about four times before its first token; 0: never',
    ),
  SLUICE_DRAIN_LIMIT_MS: durationMs().default(30_000).describe('How long streams may go on after SIGTERM'),
  SLUICE_BODY_LIMIT_BYTES: wholeNumber({ min: 1_024 })
    .default(64 * 1024 * 1024)
    .describe(
      'Largest request body; bodies that are still arriving may take four times as much in a process, and those ' +
        'of one tenant never more than they leave free for other tenants',
    ),
});

/** The parsed environment of an ingress process. */
export type IngressConfig = z.output<typeof ingressEnvironment>;

/** The port of the API, and the operations ports of all processes that share it. */
export function portsOf(config: IngressConfig): { api: Ports; operations: Ports } {
  return {
    api: { host: config.SLUICE_HOST, first: config.SLUICE_PORT, count: 1 },
    operations: {
      host: config.SLUICE_OPS_HOST,
      first: config.SLUICE_OPS_PORT,
      count: config.SLUICE_PROCESSES,
    },
  };
}
