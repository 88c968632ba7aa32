import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTestFolder } from '../test-folder.ts';
import { ConfigError } from './config-error.ts';
import { describeEnvironment, parseEnvironment, secretNamesOf } from './environment.ts';
import { durationMs, list, port, secretText, wholeNumber } from './environment-values.ts';
import { maskSecrets } from './secrets.ts';

const schema = z.object({
  SLUICE_PORT: port().default(8080).describe('Port for clients'),
  SLUICE_REDIS_URL: z.url().describe('Address of Redis'),
  SLUICE_LOG_LEVEL: z.enum(['info', 'debug']).default('info').describe('Least level written'),
  SLUICE_DRAIN_LIMIT_MS: durationMs({ min: 1 }).default(30_000).describe('Time for work in flight'),
  SLUICE_TRUSTED: list().default([]).describe('Proxies'),
  SLUICE_PEPPER: secretText().min(4).optional().describe('Mixed into hashes'),
});

function problemsOf(parse: () => unknown): Record<string, string> {
  try {
    parse();
  } catch (error) {
    if (error instanceof ConfigError)
      return Object.fromEntries(error.problems.map((p) => [p.path, p.message]));
    throw error;
  }
  throw new Error('nothing was wrong');
}

describe('parseEnvironment', () => {
  it('reads text as the types of the schema', () => {
    const { values, warnings } = parseEnvironment(schema, {
      SLUICE_PORT: ' 80 ',
      SLUICE_REDIS_URL: 'redis://localhost',
      SLUICE_TRUSTED: '10.0.0.1, ,10.0.0.2',
    });
    expect(values).toEqual({
      SLUICE_PORT: 80,
      SLUICE_REDIS_URL: 'redis://localhost',
      SLUICE_LOG_LEVEL: 'info',
      SLUICE_DRAIN_LIMIT_MS: 30_000,
      SLUICE_TRUSTED: ['10.0.0.1', '10.0.0.2'],
    });
    expect(warnings).toEqual([]);
  });

  it('reports all mistakes together, in the order of the schema, without quoting values', () => {
    const environment = {
      SLUICE_PORT: '70000',
      SLUICE_LOG_LEVEL: 'loud',
      SLUICE_DRAIN_LIMIT_MS: '1e3',
    };
    const problems = problemsOf(() => parseEnvironment(schema, environment));
    expect(problems).toEqual({
      SLUICE_PORT: 'must be at most 65535',
      SLUICE_REDIS_URL: 'is missing; expected text',
      SLUICE_LOG_LEVEL: 'must be one of info, debug',
      SLUICE_DRAIN_LIMIT_MS: 'must be a whole number, digits only',
    });
    expect(Object.keys(problems)).toEqual(Object.keys(schema.shape).slice(0, 4));
  });

  it('takes no duration that a timer would not wait for', () => {
    const parse = (limit: string) => () =>
      parseEnvironment(schema, { SLUICE_REDIS_URL: 'redis://localhost', SLUICE_DRAIN_LIMIT_MS: limit });
    expect(problemsOf(parse('2147483648'))).toEqual({
      SLUICE_DRAIN_LIMIT_MS: 'must be at most 2147483647',
    });
    expect(parse('2147483647')().values.SLUICE_DRAIN_LIMIT_MS).toBe(2_147_483_647);
  });

  it('prints one mistake per line under the source', () => {
    const parse = () => parseEnvironment(schema, { SLUICE_REDIS_URL: 'nonsense', SLUICE_PORT: '-1' });
    expect(parse).toThrow(
      'environment: 2 mistakes\n  SLUICE_PORT: must be at least 0\n  SLUICE_REDIS_URL: is not a valid url',
    );
  });

  it('takes an empty value as absent', () => {
    const { values } = parseEnvironment(schema, { SLUICE_REDIS_URL: 'redis://h', SLUICE_PORT: '' });
    expect(values.SLUICE_PORT).toBe(8080);
  });

  it('warns of unknown names and suggests the nearest one', () => {
    const { warnings } = parseEnvironment(schema, {
      SLUICE_REDIS_URL: 'redis://h',
      SLUICE_PROT: '1',
      SLUICE_DRAIN_LIMIT: '1',
      SLUICE_SET__MODELS__X: '{}',
      SLUICE_NOTHING_LIKE_IT_AT_ALL: '1',
      PATH: '/bin',
    });
    expect(warnings).toEqual([
      'SLUICE_DRAIN_LIMIT is not a setting; did you mean SLUICE_DRAIN_LIMIT_MS?',
      'SLUICE_NOTHING_LIKE_IT_AT_ALL is not a setting',
      'SLUICE_PROT is not a setting; did you mean SLUICE_PORT?',
    ]);
  });

  it('accepts names that another process of ours reads', () => {
    const { warnings } = parseEnvironment(schema, { SLUICE_REDIS_URL: 'redis://h', SLUICE_POOLS: 'sim' });
    expect(warnings).toEqual([]);
  });

  it('reads a secret from the file that NAME_FILE points to', () => {
    const path = join(openTestFolder(), 'pepper');
    writeFileSync(path, 'from the file\n');
    const { values, warnings } = parseEnvironment(schema, {
      SLUICE_REDIS_URL: 'redis://h',
      SLUICE_PEPPER_FILE: path,
    });
    expect(values.SLUICE_PEPPER).toBe('from the file');
    expect(warnings).toEqual([]);
  });

  it('takes an empty NAME_FILE as absent', () => {
    const environment = { SLUICE_REDIS_URL: 'redis://h', SLUICE_PEPPER: 'salty', SLUICE_PEPPER_FILE: ' ' };
    expect(parseEnvironment(schema, environment).values.SLUICE_PEPPER).toBe('salty');
  });

  it('knows files for secrets only', () => {
    const environment = { SLUICE_REDIS_URL: 'redis://h', SLUICE_TRUSTED_FILE: '/etc/trusted' };
    expect(parseEnvironment(schema, environment).warnings).toEqual([
      expect.stringContaining('SLUICE_TRUSTED_FILE is not a setting'),
    ]);
  });

  it('reports a secret file that is not there, and one beside the value itself', () => {
    const environment = {
      SLUICE_REDIS_URL: 'redis://h',
      SLUICE_PEPPER: 'x',
      SLUICE_PEPPER_FILE: '/nowhere/at/all',
    };
    const parse = () => parseEnvironment(schema, environment);
    expect(parse).toThrow('SLUICE_PEPPER_FILE: is given beside SLUICE_PEPPER; one of them is enough');
    expect(parse).toThrow('SLUICE_PEPPER_FILE: points to /nowhere/at/all, which is not readable');
  });
});

describe('wholeNumber', () => {
  const parse = (text: string, bounds = {}) =>
    parseEnvironment(z.object({ SLUICE_N: wholeNumber(bounds) }), { SLUICE_N: text }).values.SLUICE_N;

  it.each([
    ['0', 0],
    ['007', 7],
    ['+5', 5],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('takes %s', (text, value) => expect(parse(text)).toBe(value));

  it.each(['1.5', '1e3', '0x10', '5 6', '5s', '--5', '-'])('does not take %s', (text) => {
    expect(() => parse(text)).toThrow('SLUICE_N: must be a whole number, digits only');
  });

  it('keeps to its bounds, which include themselves', () => {
    expect([parse('-3', { min: -3, max: 4 }), parse('4', { min: -3, max: 4 })]).toEqual([-3, 4]);
    expect(() => parse('-4', { min: -3 })).toThrow('must be at least -3');
    expect(() => parse('5', { max: 4 })).toThrow('must be at most 4');
    expect(() => parse('-1')).toThrow('must be at least 0');
  });
});

describe('describeEnvironment', () => {
  it.each([
    ['whole number ≥ 0', wholeNumber()],
    ['whole number ≤ 9', z.int().max(9)],
    ['whole number', z.int()],
    ['number', z.number()],
    ['number ≥ 0.5', z.number().min(0.5)],
    ['number ≤ 2', z.number().max(2)],
    ['number 0.01–100', z.number().min(0.01).max(100)],
    ['text', z.string()],
  ])('calls a field “%s”', (type, field) => {
    expect(describeEnvironment(z.object({ SLUICE_X: field }))).toEqual([
      { name: 'SLUICE_X', type, isRequired: true, description: '' },
    ]);
  });

  it('gives name, type, default and description of every setting', () => {
    expect(describeEnvironment(schema)).toEqual([
      {
        name: 'SLUICE_PORT',
        type: 'whole number 0–65535',
        isRequired: false,
        defaultValue: '8080',
        description: 'Port for clients',
      },
      { name: 'SLUICE_REDIS_URL', type: 'text', isRequired: true, description: 'Address of Redis' },
      {
        name: 'SLUICE_LOG_LEVEL',
        type: 'info | debug',
        isRequired: false,
        defaultValue: 'info',
        description: 'Least level written',
      },
      {
        name: 'SLUICE_DRAIN_LIMIT_MS',
        type: 'whole number 1–2147483647',
        isRequired: false,
        defaultValue: '30000',
        description: 'Time for work in flight',
      },
      { name: 'SLUICE_TRUSTED', type: 'list, comma between', isRequired: false, description: 'Proxies' },
      {
        name: 'SLUICE_PEPPER',
        type: 'text of 4 or more characters',
        isRequired: false,
        description: 'Mixed into hashes',
      },
    ]);
  });
});

it('the effective configuration prints without its secrets', () => {
  const values = {
    SLUICE_REDIS_URL: 'redis://app:hunter2@redis:6379/0',
    SLUICE_PEPPER: 'salty',
    SLUICE_PORT: 1,
  };
  expect(maskSecrets(values, secretNamesOf(schema))).toEqual({
    SLUICE_REDIS_URL: 'redis://app:***@redis:6379/0',
    SLUICE_PEPPER: '***',
    SLUICE_PORT: 1,
  });
});

describe('a ConfigError', () => {
  it.each([
    ['a sentence if all of it is wrong', [{ path: '', message: 'is empty' }], 'a.yaml is empty'],
    ['one mistake under its source', [{ path: 'x', message: 'no' }], 'a.yaml: 1 mistake\n  x: no'],
    [
      'several mistakes, some about all of it',
      [
        { path: 'x', message: 'no' },
        { path: '', message: 'is odd' },
      ],
      'a.yaml: 2 mistakes\n  x: no\n  is odd',
    ],
  ])('prints %s', (_what, problems, message) => {
    expect(new ConfigError('a.yaml', problems)).toMatchObject({ name: 'ConfigError', message, problems });
  });
});
