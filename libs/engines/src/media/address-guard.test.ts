import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressRules, allowsAddress, allowsHost, isPublicAddress } from './address-guard.ts';
import { parseHostList } from './host-list.ts';
import { parseTarget } from './media-target.ts';

/** What must never be reached, written down again, independently of the code's own lists. */
const forbidden4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['168.63.129.16', 32],
  ['100.100.100.200', 32],
];
const toNumber = (dotted: string) => dotted.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
const bytesOf = (value: number) => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256);
const hex = (value: number) => value.toString(16);

const inside4 = fc
  .constantFrom(...forbidden4)
  .chain(([network, prefix]) =>
    fc.integer({ min: 0, max: 2 ** (32 - prefix) - 1 }).map((offset) => toNumber(network) + offset),
  );
const anyNumber4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

/** One byte, as old address parsers read it. */
const spelling = fc.constantFrom(
  (value: number) => String(value),
  (value: number) => `0x${hex(value)}`,
  (value: number) => `0${value.toString(8)}`,
);
type Spell = (value: number) => string;

/** An IPv4 address as a URL may spell it. */
const forms4 = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.array(spelling, { minLength: 4, maxLength: 4 }));
function spell4(value: number, [count, spells]: [number, Spell[]]): string {
  const bytes = bytesOf(value);
  const rest = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  return [...bytes.slice(0, count - 1), rest].map((part, index) => spells[index]?.(part)).join('.');
}

/** The forms of IPv6 that embed an IPv4 address. */
const carriers: ((value: number) => string)[] = [
  (value) => `::ffff:${bytesOf(value).join('.')}`,
  (value) => `::ffff:${hex(Math.floor(value / 65536))}:${hex(value % 65536)}`,
  (value) => `::${bytesOf(value).join('.')}`,
  (value) => `0:0:0:0:0:FFFF:${hex(Math.floor(value / 65536))}:${hex(value % 65536)}`,
  (value) => `64:ff9b::${bytesOf(value).join('.')}`,
  (value) => `64:ff9b:1::${bytesOf(value).join('.')}`,
  (value) => `2002:${hex(Math.floor(value / 65536))}:${hex(value % 65536)}::1`,
  (value) => `2001:0:1234::${bytesOf(value).join('.')}`,
];
/** IPv6 networks by their first groups. */
const forbidden6 = [
  '0',
  'fe80',
  'fc00',
  'fdff',
  'ff02',
  'fec0',
  '100',
  '2001:db8',
  '3fff',
  '3fff:fff',
  '5f00',
  '2001:2',
];

const targetRules = { allowsHttp: false, ports: [443] };
const none = parseHostList([]);
const noneSaid: AddressRules = { internal: none, denied: none };

/** The address that the fetcher would check for the host of a URL. */
function addressIn(host: string): string {
  const target = parseTarget(`https://${host}/`, targetRules);
  if (typeof target === 'string') throw new Error(`${host} ${target}`);
  return target.host;
}

describe('an address', () => {
  it('inside of a special IPv4 network is not public in any spelling', () => {
    fc.assert(
      fc.property(inside4, forms4, (value, form) => {
        const address = addressIn(spell4(value, form));
        expect(address).toBe(bytesOf(value).join('.'));
        expect(isPublicAddress(address)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('of IPv6 that embeds an IPv4 address is not public, whatever it embeds', () => {
    fc.assert(
      fc.property(fc.oneof(inside4, anyNumber4), fc.constantFrom(...carriers), (value, carry) => {
        expect(isPublicAddress(addressIn(`[${carry(value)}]`))).toBe(false);
        expect(isPublicAddress(carry(value))).toBe(false);
      }),
    );
  });

  it('inside of a special IPv6 network is not public', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map(hex);
    fc.assert(
      fc.property(fc.constantFrom(...forbidden6), fc.tuple(group, group), (network, [left, right]) => {
        expect(isPublicAddress(addressIn(`[${network}::${left}:${right}]`))).toBe(false);
      }),
    );
  });

  it.each([
    '::',
    '::1',
    'fe80::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '2001:1::1',
    '255.255.255.255',
    '192.88.99.1',
  ])('like %s is not public', (address) => expect(isPublicAddress(address)).toBe(false));

  it.each([
    ...[
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    ...['169.253.255.255', '172.15.255.255', '172.32.0.0', '192.167.255.255', '198.17.255.255', '198.20.0.0'],
    ...[
      '223.255.255.255',
      '2606:4700::1111',
      '2001:4860:4860::8888',
      '2a00:1450:4001::1',
      '2003::1',
      '3ffe::1',
    ],
  ])('like %s is public', (address) => expect(isPublicAddress(address)).toBe(true));
});

describe('the rules of an operator', () => {
  const rulesOf = (more: { hosts?: string[]; internal?: string[]; denied?: string[] }): AddressRules => ({
    ...(more.hosts && { hosts: parseHostList(more.hosts) }),
    internal: parseHostList(more.internal ?? []),
    denied: parseHostList(more.denied ?? []),
  });
  const allows = (host: string, address: string, rules: AddressRules) =>
    allowsHost(host, rules) && allowsAddress(host, address, rules);

  it('let public hosts through by default', () => {
    expect(allows('files.example', '1.1.1.1', noneSaid)).toBe(true);
    expect(allows('files.example', '10.0.0.1', noneSaid)).toBe(false);
  });

  it('let only the listed hosts through, and none of their private addresses', () => {
    const rules = rulesOf({ hosts: ['*.example', '9.9.9.0/24'] });
    expect(allows('files.example', '1.1.1.1', rules)).toBe(true);
    expect(allows('files.example', '10.0.0.1', rules)).toBe(false);
    expect(allows('files.other', '1.1.1.1', rules)).toBe(false);
    expect(allows('9.9.9.9', '9.9.9.9', rules)).toBe(true);
    expect(allows('1.1.1.1', '1.1.1.1', rules)).toBe(false);
  });

  it('let an internal name lead to private addresses, but not to the machine itself or its cloud’s metadata', () => {
    const rules = rulesOf({ internal: ['minio.local'] });
    for (const address of ['10.0.0.1', '192.168.1.1', 'fd12::1', '1.1.1.1']) {
      expect(allows('minio.local', address, rules)).toBe(true);
    }
    for (const address of [
      '127.0.0.1',
      '169.254.169.254',
      '100.100.100.200',
      'fd00:ec2::254',
      'fd20:ce::254',
      '::1',
    ]) {
      expect(allows('minio.local', address, rules)).toBe(false);
    }
    expect(allows('other.local', '10.0.0.1', rules)).toBe(false);
  });

  it('let listed internal addresses through beside a list of hosts', () => {
    const rules = rulesOf({ hosts: ['files.example'], internal: ['127.0.0.1', '10.1.0.0/16'] });
    expect(allows('127.0.0.1', '127.0.0.1', rules)).toBe(true);
    expect(allows('files.example', '10.1.2.3', rules)).toBe(true);
    expect(allows('10.2.0.1', '10.2.0.1', rules)).toBe(false);
  });

  it('let nothing denied through', () => {
    const rules = rulesOf({ internal: ['10.0.0.0/8'], denied: ['bad.example', '10.9.0.0/16', '1.1.1.1'] });
    expect(allows('bad.example', '9.9.9.9', rules)).toBe(false);
    expect(allows('good.example', '1.1.1.1', rules)).toBe(false);
    expect(allows('10.9.0.1', '10.9.0.1', rules)).toBe(false);
    expect(allows('10.8.0.1', '10.8.0.1', rules)).toBe(true);
  });
});

describe('a URL', () => {
  it.each([
    ['ftp://files.example/a', 'must be an https URL'],
    ['http://files.example/a', 'must be an https URL'],
    ['file:///etc/passwd', 'must be an https URL'],
    ['https://user@files.example/a', 'must be a URL without a user name or password'],
    ['https://:word@files.example/a', 'must be a URL without a user name or password'],
    ['https://files.example:22/a', 'must be a URL without that port'],
    ['https://files.example:80/a', 'must be a URL without that port'],
    ['https://', 'is not a URL'],
    ['//files.example', 'is not a URL'],
  ])('%s is refused', (url, fact) => expect(parseTarget(url, targetRules)).toBe(fact));

  it('may be http if that is allowed, but never after https', () => {
    const rules = { allowsHttp: true, ports: [443, 80] };
    expect(parseTarget('http://files.example/a', rules)).toMatchObject({ host: 'files.example' });
    const secure = new URL('https://files.example/');
    expect(parseTarget('http://files.example/a', rules, secure)).toBe('leads from https to http');
    expect(parseTarget('/b', rules, secure)).toMatchObject({ url: new URL('https://files.example/b') });
  });

  it('has its host in one spelling', () => {
    expect(addressIn('FILES.example.')).toBe('files.example');
    expect(addressIn('127.1')).toBe('127.0.0.1');
    expect(addressIn('[::FFFF:127.0.0.1]')).toBe('::ffff:7f00:1');
    expect(addressIn('127。0。0。1')).toBe('127.0.0.1');
  });
});
