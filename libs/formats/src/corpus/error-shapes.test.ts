import { describe, expect, test } from 'vitest';
import { formats } from '../registry.ts';
import { isErrorBody, loadErrorShapes } from './error-shapes.ts';

const shapes = await loadErrorShapes();

describe.each(formats.map(({ server }) => server))('an error of $format', ({ format, encodeError }) => {
  const { status, body } = encodeError({ kind: 'not-found', message: 'nothing there' }, { requestId: 'r' });

  test('is known by its format, and as one of any', () => {
    expect(isErrorBody(shapes, format, body, status)).toBe(true);
    expect(isErrorBody(shapes, undefined, body, status)).toBe(true);
  });

  test('is not mistaken for one of another format', () => {
    const others = [...shapes.keys()].filter((name) => name !== format);
    expect(others.filter((name) => isErrorBody(shapes, name, body, status))).toEqual([]);
  });
});

test('what is no error, or repeats another status, is not taken for one', () => {
  expect(isErrorBody(shapes, undefined, { error: null }, 404)).toBe(false);
  expect(isErrorBody(shapes, undefined, 'no such page', 404)).toBe(false);
  const body = { error: { code: 400, message: 'nothing there', status: 'NOT_FOUND' } };
  expect(isErrorBody(shapes, 'gemini', body, 400)).toBe(true);
  expect(isErrorBody(shapes, 'gemini', body, 404)).toBe(false);
});
