import { durationMs, logLevels, port, secretText, wholeNumber } from '@sluice/runtime';
import { redisSchemes, redisUrl } from '@sluice/transport';
import { z } from 'zod';
import { upstreamKeyName } from './upstream-settings.ts';

/**
 * What `npm start` itself reads from its environment; flags override it. Everything else is passed on to its processes.
 */
export const startEnvironment = z.object({
  SLUICE_REDIS_URL: redisUrl().optional().describe(`Redis to use: ${redisSchemes}; absent: \`REDIS_URL\``),
  REDIS_URL: redisUrl().optional().describe('The same; absent: a Redis is started'),
  SLUICE_KEY_SECRET: secretText()
    .min(16)
    .optional()
    .describe('Secret of the keyed hashes; absent: one that is kept in `.sluice/key-secret`'),
  SLUICE_CONFIG: z
    .string()
    .optional()
    .describe('Settings file, unless `--config` names one; not beside `--upstream` or `--gguf`'),
  SLUICE_HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  SLUICE_PORT: wholeNumber({ min: 1, max: 65_535 })
    .default(8080)
    .describe('Port of the first ingress, the next ones follow it'),
  SLUICE_OPS_HOST: z.string().default('127.0.0.1').describe('Address of /livez, /readyz and /metrics'),
  SLUICE_OPS_PORT: port()
    .default(0)
    .describe('First port of /metrics; those of all processes follow, ingresses first. 0: any free ones'),
  SLUICE_PROCESSES: wholeNumber({ min: 1, max: 64 })
    .default(1)
    .describe('Processes of each ingress and each worker'),
  SLUICE_DRAIN_LIMIT_MS: durationMs()
    .default(2_500)
    .describe('How long streams may go on after Ctrl-C; a second one ends them'),
  SLUICE_LOG_LEVEL: z.enum(logLevels).default('warn').describe('Least severe log line that is written'),
  [upstreamKeyName]: secretText().optional().describe('Credential for the server of `--upstream`'),
});
