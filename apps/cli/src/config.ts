import { type Environment, parseEnvironment, secretText } from '@sluice/runtime';
import { redisSchemes, redisUrl, usualRedis } from '@sluice/transport';
import { z } from 'zod';

/** The environment of the CLI. */
export const cliEnvironment = z.object({
  SLUICE_REDIS_URL: redisUrl().default(usualRedis).describe(`Redis of the installation: ${redisSchemes}`),
  SLUICE_KEY_SECRET: secretText()
    .min(16)
    .optional()
    .describe('Secret of the keyed hash of credentials, the same as of the ingress; only minting needs it'),
});

export interface CliConfig {
  redisUrl: string;
  /** Absent: everything works but minting. */
  keySecret?: string;
}

/**
 * Throws `ConfigError` with all mistakes. The warnings are about settings that no process reads; those of other
 * processes may be in the same environment.
 */
export function parseConfig(environment: Environment): { config: CliConfig; warnings: string[] } {
  const { values, warnings } = parseEnvironment(cliEnvironment, environment);
  const { SLUICE_REDIS_URL, SLUICE_KEY_SECRET } = values;
  const config = {
    redisUrl: SLUICE_REDIS_URL,
    ...(SLUICE_KEY_SECRET !== undefined && { keySecret: SLUICE_KEY_SECRET }),
  };
  return { config, warnings };
}
