import { describe, expect, it } from 'vitest';
import { isHostEntry, parseHostList } from './host-list.ts';

describe('an entry of a host list', () => {
  it.each([
    'cdn.example.com',
    'CDN.example.com',
    '*.example.com',
    'minio',
    '10.0.0.1',
    '10.0.0.0/8',
    '::1',
    'fd00::/8',
  ])('may be %s', (entry) => expect(isHostEntry(entry)).toBe(true));

  it.each([
    '',
    '*',
    '*.',
    'a..b',
    'https://example.com',
    'example.com:443',
    'example.com/path',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0',
    '300.1.1.1',
    '::/129',
    '[::1]',
    'a.*.com',
  ])('may not be %j', (entry) => expect(isHostEntry(entry)).toBe(false));
});

describe('a host list', () => {
  it('holds names whatever their case, and names below a star', () => {
    const list = parseHostList(['Files.example', '*.cdn.example']);
    expect(['files.example', 'a.cdn.example', 'a.b.cdn.example'].map(list.hasName)).toEqual([
      true,
      true,
      true,
    ]);
    expect(['xfiles.example', 'cdn.example', 'xcdn.example', 'files.example.org'].map(list.hasName)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it('holds addresses and networks of both families', () => {
    const list = parseHostList(['10.1.0.0/16', '192.0.2.7', 'fd00:1::/32']);
    expect(['10.1.255.255', '192.0.2.7', 'fd00:1:ffff::1'].map(list.hasAddress)).toEqual([true, true, true]);
    expect(['10.2.0.0', '192.0.2.8', 'fd00:2::1'].map(list.hasAddress)).toEqual([false, false, false]);
  });
});
