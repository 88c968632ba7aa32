import { expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { applyOverrides } from './overrides.ts';

const settings = {
  pools: { sim: { backend: { engine: 'simulated', slots: 256 }, waitBudgetMs: 30_000 } },
  models: { 'llama3:8b': { pool: 'sim' }, other: { pool: 'sim' } },
  list: ['a', 'b'],
};

it('sets what exists, whatever the case, and leaves the given settings alone', () => {
  const { settings: changed, applied } = applyOverrides(settings, {
    SLUICE_SET__POOLS__SIM__BACKEND__SLOTS: '8',
    SLUICE_SET__POOLS__SIM__WAIT_BUDGET_MS: '100',
    SLUICE_SET__MODELS__LLAMA3_8B__POOL: 'other',
    SLUICE_SET__LIST__1: '"c"',
    SLUICE_PORT: '1',
  });
  expect(changed).toEqual({
    pools: { sim: { backend: { engine: 'simulated', slots: 8 }, waitBudgetMs: 100 } },
    models: { 'llama3:8b': { pool: 'other' }, other: { pool: 'sim' } },
    list: ['a', 'c'],
  });
  expect(applied).toEqual([
    'list[1]',
    'models["llama3:8b"].pool',
    'pools.sim.backend.slots',
    'pools.sim.waitBudgetMs',
  ]);
  expect(settings.pools.sim.backend.slots).toBe(256);
});

it.each([
  ['8', 8],
  ['true', true],
  ['null', null],
  ['{"a":[1]}', { a: [1] }],
  ['"8"', '8'],
  ['http://host:1/x', 'http://host:1/x'],
  ['""', ''],
])('the value %j is %j', (text, value) => {
  expect(applyOverrides({}, { SLUICE_SET__X: text }).settings).toEqual({ x: value });
});

it('takes an empty value for an absent one', () => {
  const environment = { SLUICE_SET__LIST__0: '', SLUICE_SET__LIST__1: ' ' };
  expect(applyOverrides(settings, environment)).toEqual({ settings, applied: [] });
});

it('adds what is new: spelt as known, as written in mixed case, else in lower case', () => {
  const environment = {
    SLUICE_SET__POOLS__SIM__MAX_WAITING: '5',
    SLUICE_SET__pools__sim__someThing: '6',
    SLUICE_SET__POOLS__GPU__BACKEND__ENGINE: 'upstream',
  };
  expect(applyOverrides({ pools: { sim: {} } }, environment, { spellings: ['maxWaiting'] }).settings).toEqual(
    {
      pools: { sim: { maxWaiting: 5, someThing: 6 }, gpu: { backend: { engine: 'upstream' } } },
    },
  );
});

it('puts an item into a list at any place up to its end', () => {
  const list = Array.from({ length: 11 }, (_, index) => index);
  const environment = { SLUICE_SET__LIST__10: '"last"', SLUICE_SET__LIST__11: '"new"' };
  expect(applyOverrides({ list }, environment).settings).toEqual({
    list: [...list.slice(0, 10), 'last', 'new'],
  });
});

it.each(['12', '1x', 'x1', '-1', '1.0'])('position %s of a list of one item leads nowhere', (position) => {
  expect(() => applyOverrides({ list: ['a'] }, { [`SLUICE_SET__LIST__${position}`]: '1' })).toThrow(
    `${position} is not a position in a list of 1`,
  );
});

it('makes a group of what was left empty', () => {
  expect(applyOverrides({ pools: null }, { SLUICE_SET__POOLS__SIM__SLOTS: '8' }).settings).toEqual({
    pools: { sim: { slots: 8 } },
  });
});

it('ignores a variable that is not set, and takes the later of two spellings', () => {
  const environment = { SLUICE_SET__B: undefined, SLUICE_SET__A: '1', SLUICE_SET__a: '2' };
  expect(applyOverrides({}, environment)).toEqual({ settings: { a: 2 }, applied: ['a', 'a'] });
});

it('prefers the name that is spelt exactly so', () => {
  const settings = { models: { 'a-b': { pool: 'x' }, a_b: { pool: 'x' } } };
  expect(applyOverrides(settings, { SLUICE_SET__MODELS__a_b__POOL: 'y' }).settings).toEqual({
    models: { 'a-b': { pool: 'x' }, a_b: { pool: 'y' } },
  });
});

it('starts from nothing where there is no file', () => {
  expect(applyOverrides(undefined, { SLUICE_SET__A__B: '1' }).settings).toEqual({ a: { b: 1 } });
  expect(applyOverrides(undefined, {}).settings).toBeUndefined();
});

it('reports every override that leads nowhere', () => {
  const environment = {
    SLUICE_SET__: '1',
    SLUICE_SET__POOLS____X: '1',
    SLUICE_SET__POOLS__SIM__WAITBUDGETMS__X: '1',
    SLUICE_SET__LIST__9: '1',
    SLUICE_SET__LIST__X: '1',
  };
  try {
    applyOverrides(settings, environment);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect(error instanceof ConfigError && error.problems).toEqual([
      { path: 'SLUICE_SET__', message: 'has an empty path segment' },
      { path: 'SLUICE_SET__LIST__9', message: '9 is not a position in a list of 2' },
      { path: 'SLUICE_SET__LIST__X', message: 'X is not a position in a list of 2' },
      {
        path: 'SLUICE_SET__POOLS__SIM__WAITBUDGETMS__X',
        message: 'leads through pools.sim.waitBudgetMs, which holds a plain value',
      },
      { path: 'SLUICE_SET__POOLS____X', message: 'has an empty path segment' },
    ]);
  }
});

it('refuses a name that could mean two', () => {
  const two = { models: { 'a-b': {}, ab: {} } };
  expect(() => applyOverrides(two, { SLUICE_SET__MODELS__A_B__POOL: 'x' })).toThrow(
    'A_B could mean a-b or ab',
  );
});

it('cannot reach the prototype of all objects', () => {
  const { settings: changed } = applyOverrides({}, { SLUICE_SET__constructor__prototype__polluted: '1' });
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  expect(Object.hasOwn(Object(changed), 'constructor')).toBe(true);
});
