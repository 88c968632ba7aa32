import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArgumentScanner } from './argument-scanner.ts';
import { parseArguments } from './call-arguments.ts';

interface Said {
  pieces: string[];
  /** All that a client reads, as the SDKs do; nothing counts as an empty object. */
  whole: string;
  isReadable: boolean;
}

function scan(...fragments: string[]): Said {
  const scanner = new ArgumentScanner();
  const pieces = fragments.map((fragment) => scanner.push(fragment));
  const whole = pieces.join('') + scanner.end();
  return { pieces, whole: whole === '' ? '{}' : whole, isReadable: scanner.isReadable };
}

function cut(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [...at, text.length].map((end, index) => text.slice(index === 0 ? 0 : at[index - 1], end));
}

const cuts = fc.array(fc.nat(60), { maxLength: 8 });
const json = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }));
const spaced = fc
  .tuple(json, fc.constantFrom(0, 1, '\t'))
  .map(([value, gap]) => JSON.stringify(value, null, gap));
/** Texts that models write but that are not JSON. */
const spoiled = fc
  .tuple(
    spaced,
    fc.nat(60),
    fc.constantFrom('', '\\', '\\x', '\n', ',', ']', '}', '"', 'x', '-', '1e', '{', '`'),
  )
  .map(
    ([text, at, slip]) => text.slice(0, at % (text.length + 1)) + slip + text.slice(at % (text.length + 1)),
  );
const fromSoup = fc
  .array(
    fc.constantFrom(...'{}[],:"\\', 'u00e9', 'true', 'nul', '-1', '.5', 'e', ' ', '\n', 'a', '```', 'json'),
  )
  .map((tokens) => tokens.join(''));
const anything = fc.oneof(
  spoiled,
  fromSoup,
  fromSoup.map((soup) => `{"a":${soup}`),
  fc.string(),
);

describe('arguments that are a JSON object', () => {
  test('are passed on unchanged, however they are split', () => {
    fc.assert(
      fc.property(spaced, cuts, (text, places) => {
        expect(scan(...cut(text, places))).toMatchObject({ whole: text, isReadable: true });
      }),
    );
  });

  test('are passed on fragment by fragment, a name and a number with what follows them', () => {
    const said = scan('{"ci', 'ty": "Os', 'lo \\u0', '0e9", "d', 'ays": 1', '2, "is', 'Warm": tr', 'ue}');
    expect(said.pieces).toEqual([
      '{',
      '"city": "Os',
      'lo ',
      '\\u00e9"',
      '',
      ', "days": 12',
      '',
      ', "isWarm": true}',
    ]);
  });
});

describe('arguments that are no object', () => {
  test.each(['not json', '[1]', '"str"', '7', 'nulls', '}{', ']]', '```', 'json'])(
    'are not passed on at all: %s',
    (text) => {
      expect(scan(text)).toMatchObject({ pieces: [''], whole: '{}', isReadable: false });
    },
  );

  test.each([
    ['{a', '{}'],
    ["{'a':1}", '{}'],
    ['{"a":1} and more', '{"a":1}'],
    ['{"a":1}{"b":2}', '{"a":1}'],
    ['{"a":"b\\x"}', '{"a":"b"}'],
    ['{"a":1,"b":oops}', '{"a":1}'],
    ['{"a":[1] tr', '{"a":[1]}'],
    ['{"a":[1}', '{"a":[1]}'],
    ['{"a":}', '{}'],
    ['{"a":01}', '{}'],
    ['{"a" 1}', '{}'],
    ['{,}', '{}'],
    ['{"a":[,]}', '{"a":[]}'],
    [`{"a":${'9'.repeat(5000)}`, '{}'],
  ])('are passed on up to their mistake and closed there: %s', (text, whole) => {
    expect(scan(text)).toMatchObject({ whole, isReadable: false });
    expect(scan(...text)).toMatchObject({ whole, isReadable: false });
  });

  test('always form one JSON object of all that was passed on', () => {
    fc.assert(
      fc.property(anything, cuts, (text, places) => {
        const { whole } = scan(...cut(text, places));
        const value: unknown = JSON.parse(whole);
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      }),
      { numRuns: 2000 },
    );
  });

  test('read the same however they are split, and as in a single body if they are readable', () => {
    fc.assert(
      fc.property(anything, cuts, (text, places) => {
        const { whole, isReadable } = scan(...cut(text, places));
        expect(scan(text)).toMatchObject({ whole, isReadable });
        const single = parseArguments(text);
        expect(single.isReadable).toBe(isReadable);
        // Compared as written: a number may hold more than it shows here.
        if (isReadable) expect(JSON.parse(JSON.stringify(single.input))).toEqual(JSON.parse(whole));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('unambiguous slips', () => {
  test.each([
    ['{"a":"two\nlines"}', '{"a":"two\\nlines"}'],
    ['{"a\t":1}', '{"a\\t":1}'],
    ['{"a":[1,2,],}', '{"a":[1,2]}'],
    ['```json\n{"a":1}\n```', '{"a":1}'],
    ['```{"a":1}```', '{"a":1}'],
  ])('are repaired on the way: %j', (text, whole) => {
    expect(scan(text)).toMatchObject({ whole, isReadable: true });
    expect(scan(...text)).toMatchObject({ whole, isReadable: true });
  });
});

test('a megabyte in one string is as fast in small fragments as it should be', () => {
  const fragment = 'four ';
  const scanner = new ArgumentScanner();
  let length = scanner.push('{"text":"').length;
  for (let index = 0; index < 200_000; index += 1) length += scanner.push(fragment).length;
  expect(length + scanner.end().length).toBe(1_000_011);
});
