import { durationMs, list, logLevels, port, wholeNumber } from '@sluice/runtime';
import { redisSchemes, redisUrl, usualRedis } from '@sluice/transport';
import { z } from 'zod';

/** The environment of a worker: its supervisor and the processes under it read the same. Durations are milliseconds. */
export const workerEnvironment = z.object({
  SLUICE_REDIS_URL: redisUrl().default(usualRedis).describe(`Redis: ${redisSchemes}`),
  SLUICE_CONFIG: z
    .string()
    .optional()
    .describe(
      'Settings file (YAML or JSON) with pools, models and aliases; absent: the built-in simulated model',
    ),
  SLUICE_POOLS: list()
    .refine((pools) => pools.length > 0, 'names no pool')
    .optional()
    .describe('Pools that this worker serves, with commas between; absent: all'),
  SLUICE_PROCESSES: wholeNumber({ min: 1, max: 64 })
    .default(1)
    .describe(
      'Processes under this supervisor, each with the slots of every pool and an operations port that has to be scraped',
    ),
  SLUICE_OPS_HOST: z.string().default('127.0.0.1').describe('Address of /livez, /readyz and /metrics'),
  SLUICE_OPS_PORT: port()
    .default(9465)
    .describe(
      'Port of /livez, /readyz and /metrics of the first process; those of the others follow it; 0 lets the system choose',
    ),
  SLUICE_LOG_LEVEL: z.enum(logLevels).default('info').describe('Least severe log line that is written'),
  SLUICE_DRAIN_LIMIT_MS: durationMs()
    .default(30_000)
    .describe(
      'How long generations may go on after SIGTERM, and slow readers are waited for, before what is left is handed over',
    ),
  SLUICE_WORKER_ID: z
    .string()
    .regex(/^[a-z0-9]+$/)
    .optional()
    .describe('Set by the supervisor for the processes under it; not for operators'),
  SLUICE_WORKER_RESTARTS: wholeNumber()
    .default(0)
    .describe(
      'Set by the supervisor: how many processes have ended unexpectedly in this seat before; not for operators',
    ),
});

/** The parsed environment of a worker. */
export type WorkerConfig = z.output<typeof workerEnvironment>;
