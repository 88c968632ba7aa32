import { expect, it } from 'vitest';
import { isModelName } from './names.ts';

it.each([
  ['llama3:8b', true],
  ['x'.repeat(200), true],
  ['x'.repeat(201), false],
  ['', false],
  ['a b', false],
  ['gpt-*', false],
  ['__proto__', false],
])('whether a model may be named %.20j: %s', (name, isAllowed) => expect(isModelName(name)).toBe(isAllowed));
