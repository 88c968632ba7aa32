/**
 * Every name of the environment that any process of ours or the compose file reads. Shells, compose files and config
 * maps share one environment among several processes, so a name that another process reads is no mistake.
 */
export const settingNames: readonly string[] = [
  'SLUICE_BIND',
  'SLUICE_BODY_LIMIT_BYTES',
  'SLUICE_CONFIG',
  'SLUICE_DRAIN_LIMIT_MS',
  'SLUICE_ENV_FILE',
  'SLUICE_HOST',
  'SLUICE_KEEP_ALIVE_MS',
  'SLUICE_KEY_SECRET',
  'SLUICE_KEY_SECRET_FILE',
  'SLUICE_LOG_LEVEL',
  'SLUICE_LOOP_DELAY_LIMIT_MS',
  'SLUICE_OPS_HOST',
  'SLUICE_OPS_PORT',
  'SLUICE_POOLS',
  'SLUICE_PORT',
  'SLUICE_PORTS',
  'SLUICE_PROCESSES',
  'SLUICE_PROCESS_SEAT',
  'SLUICE_REDIS_URL',
  'SLUICE_REDIS_URL_FILE',
  'SLUICE_REQUEST_TIMEOUT_MS',
  'SLUICE_STALL_LIMIT_MS',
  'SLUICE_WORKER_ID',
  'SLUICE_WORKER_RESTARTS',
];
