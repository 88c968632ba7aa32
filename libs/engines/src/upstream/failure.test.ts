import type { ErrorInfo, ErrorKind } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { presentFailure } from './failure.ts';

const secret = 'key-of-the-operator';
const told = { openai: { code: 'invalid_value' } };

function failure(kind: ErrorKind, extensions: ErrorInfo['extensions'] = told): ErrorInfo {
  return { kind, message: 'no', extensions };
}

it('a message that the mark of a key makes too long is cut, but not within a character', () => {
  const faces = '😀'.repeat(250);
  const { message } = presentFailure({ kind: 'invalid-request', message: `9${secret}${faces}` }, [secret]);
  expect(message).toHaveLength(500);
  expect(message.isWellFormed()).toBe(true);
});

describe('what a server told programs', () => {
  it.each(['invalid-request', 'too-large', 'rate-limited', 'saturated', 'unavailable'] as const)(
    'stays with %s, of which the client hears',
    (kind) => {
      expect(presentFailure(failure(kind), [secret])).toEqual({ kind, message: 'no', extensions: told });
    },
  );

  it.each(['unauthenticated', 'budget-exhausted', 'not-found', 'upstream-failed', 'internal'] as const)(
    'goes with %s, which is not the fault of the client',
    (kind) => {
      expect(presentFailure(failure(kind), [secret])).not.toHaveProperty('extensions');
    },
  );

  it.each([
    ['a credential', { anthropic: { details: { paths: [`at ${secret}`] } } }],
    ['the name of the account', { anthropic: { details: { of: 'org-0123456789abcdef' } } }],
    ['more than any code needs', { anthropic: { details: { paths: Array(500).fill('messages') } } }],
  ])('goes if it holds %s', (_what, extensions) => {
    const shown = presentFailure(failure('invalid-request', extensions), [secret]);
    expect(shown).toEqual({ kind: 'invalid-request', message: 'no' });
  });
});
