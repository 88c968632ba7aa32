import { SluiceError } from '@sluice/canonical';

/** The error for an operator when a port cannot be opened: its purpose, its address, and what is in the way. */
export function listenFailure(what: string, host: string, port: number, cause: unknown): SluiceError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return new SluiceError('unavailable', `can't listen on ${host}:${port} for ${what}: ${explain(code)}`, {
    cause,
  });
}

function explain(code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'another process has it';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address';
    case 'ENOTSUP':
      return 'this system lets no two processes share a port: set SLUICE_PROCESSES=1';
    default:
      return `the system says ${code}`;
  }
}
