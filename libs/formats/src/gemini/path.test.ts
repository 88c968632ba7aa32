import { SluiceError } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { encodePath, parsePath, readAction } from './path.ts';

describe('parsePath', () => {
  test.each([
    ['/v1beta/models/swift-1:generateContent', 'swift-1', 'generateContent'],
    ['/v1/models/org/name:v1:streamGenerateContent', 'org/name:v1', 'streamGenerateContent'],
    ['/v1/models/org%2Fname%3Av1:generateContent', 'org/name:v1', 'generateContent'],
    ['/v1/models/org%2Fname%3Av1%3AgenerateContent', 'org/name:v1', 'generateContent'],
    ['/v1/models/org:v1%3acountTokens', 'org:v1', 'countTokens'],
    ['//v1beta//models/swift-1:countTokens', 'swift-1', 'countTokens'],
    ['/v1beta/models/models/swift-1:generateContent', 'swift-1', 'generateContent'],
    ['/v1beta/tunedModels/mine:generateContent', 'mine', 'generateContent'],
    ['/v1beta/models/tunedModels%2Fmine:generateContent', 'mine', 'generateContent'],
    ['/v1beta/models/a%252Fb:generateContent', 'a%2Fb', 'generateContent'],
  ])('splits %s at its last colon and decodes the model once', (path, model, action) => {
    expect(parsePath(path)).toEqual({ model, action });
  });

  test.each([
    '/v1beta/models/swift-1:embedContent',
    '/v1beta/models/swift-1',
    '/v1beta/models/:generateContent',
    '/v1beta/models/swift-1:',
    '/v2/models/swift-1:generateContent',
    '',
  ])('finds nothing at %j', (path) => {
    expect(() => parsePath(path)).toThrow(expect.objectContaining({ kind: 'not-found' }));
  });

  test('refuses a model that is not percent-encoded text', () => {
    expect(() => parsePath('/v1beta/models/%ff:generateContent')).toThrow(SluiceError);
  });
});

test('an action marks its path, whatever precedes it', () => {
  expect(readAction('/v1/models/org/name:generateContent')).toBe('generateContent');
  expect(readAction('/v1/models/org/name')).toBeUndefined();
  expect(readAction('/v1/messages')).toBeUndefined();
});

test.each([
  ['gemini-3', true, '/v1beta/models/gemini-3:streamGenerateContent?alt=sse'],
  ['tunedModels/mine', false, '/v1beta/tunedModels/mine:generateContent'],
  ['org/a b?:v1', false, '/v1beta/models/org/a%20b%3F:v1:generateContent'],
])('the path of %s at an upstream can be parsed again', (model, stream, path) => {
  expect(encodePath(model, stream)).toBe(path);
  expect(parsePath(new URL(path, 'http://upstream').pathname).model).toBe(model.replace('tunedModels/', ''));
});

test('a path of thousands of colons is read as fast as any other', () => {
  const path = `/v1/models/${'%3A'.repeat(5_000)}/`;
  // A single one took 150 ms.
  for (let times = 0; times < 500; times += 1) expect(readAction(path)).toBeUndefined();
});
