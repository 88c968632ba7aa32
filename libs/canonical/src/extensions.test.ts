import { describe, expect, it } from 'vitest';
import { type Extensible, extend, extensionsOf, mergeExtensions } from './extensions.ts';

describe('unknown fields', () => {
  it('are filed under the format that understands them', () => {
    const thing: Extensible = { ...extend('openai', { seed: 1 }) };
    expect(thing).toEqual({ extensions: { openai: { seed: 1 } } });
    expect(extensionsOf(thing, 'openai')).toEqual({ seed: 1 });
    expect(extensionsOf(thing, 'anthropic')).toBeUndefined();
    expect(extensionsOf({}, 'openai')).toBeUndefined();
  });

  it('leave no empty record behind when there are none', () => {
    expect({ ...extend('openai', {}) }).toEqual({});
  });
});

describe('later fields of a block', () => {
  it('join arrays and replace the rest, per format', () => {
    const block: Extensible = {
      extensions: { anthropic: { citations: [1], signature: 'old' }, openai: { a: 1 } },
    };
    mergeExtensions(block, { anthropic: { citations: [2], signature: 'new', more: true }, gemini: { b: 2 } });
    expect(block.extensions).toEqual({
      anthropic: { citations: [1, 2], signature: 'new', more: true },
      openai: { a: 1 },
      gemini: { b: 2 },
    });
  });

  it('replace where only one of the two is an array', () => {
    const block: Extensible = { extensions: { openai: { a: [1], b: 1 } } };
    mergeExtensions(block, { openai: { a: 2, b: [2] } });
    expect(block.extensions).toEqual({ openai: { a: 2, b: [2] } });
  });

  it('start a record if there was none', () => {
    const block: Extensible = {};
    mergeExtensions(block, { openai: { a: 1 } });
    expect(block).toEqual({ extensions: { openai: { a: 1 } } });
  });

  it('ignore a name that would set the prototype', () => {
    const block: Extensible = {};
    mergeExtensions(block, { openai: JSON.parse('{"__proto__":{"odd":1},"a":1}') });
    expect(Object.getPrototypeOf(block.extensions?.openai)).toBe(Object.prototype);
    expect(block).toEqual({ extensions: { openai: { a: 1 } } });
  });

  it('do not change anyone who shares the earlier or the later record', () => {
    const earlier = { openai: { list: [1] } };
    const later = { openai: { list: [2] } };
    const block: Extensible = { extensions: earlier };
    mergeExtensions(block, later);
    expect([earlier, later]).toEqual([{ openai: { list: [1] } }, { openai: { list: [2] } }]);
  });

  it('extend long lists in place, and leave the given lists alone', () => {
    const part: Extensible = {};
    const first = { openai: { sources: [0] } };
    mergeExtensions(part, first);
    for (let each = 1; each < 200_000; each += 1) mergeExtensions(part, { openai: { sources: [each] } });
    expect(part.extensions?.openai?.sources).toHaveLength(200_000);
    expect(first).toEqual({ openai: { sources: [0] } });
  });
});
