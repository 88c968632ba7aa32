import { expect, it } from 'vitest';
import { errorText } from './error-text.ts';

it('an error says what it was about and why', () => {
  const cause = new Error('EADDRINUSE: address already in use', {
    cause: new Error('another\nwith a second line'),
  });
  expect(errorText(new Error("can't listen", { cause }))).toBe(
    "can't listen: EADDRINUSE: address already in use: another",
  );
});

it('an error without a cause keeps all its lines', () => {
  expect(errorText(new Error('wrong:\n  a\n  b'))).toBe('wrong:\n  a\n  b');
  expect(errorText('text')).toBe('text');
});

it('nothing is said twice', () => {
  expect(errorText(new Error('a: b', { cause: new Error('b') }))).toBe('a: b');
});
