import { expect, it } from 'vitest';
import { listenFailure } from './listen-failure.ts';

it.each([
  [{ code: 'EADDRINUSE' }, 'another process has it'],
  [{ code: 'EADDRNOTAVAIL' }, 'this machine has no such address'],
  [{ code: 'ENOTFOUND' }, 'this machine has no such address'],
  [{ code: 'ENOTSUP' }, 'this system lets no two processes share a port: set SLUICE_PROCESSES=1'],
  [{ code: 'EACCES' }, 'the system says EACCES'],
])('a port that the system refuses with %j: %s', (fields, reason) => {
  const cause = Object.assign(new Error('listen'), fields);
  const failure = listenFailure('clients', '10.0.0.1', 80, cause);
  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: `can't listen on 10.0.0.1:80 for clients: ${reason}`,
  });
  expect(failure.cause).toBe(cause);
});
