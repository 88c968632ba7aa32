import { ConfigError, type Problem } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { parseCatalog, toPublicModels } from './catalog.ts';
import { catalogSettings, defaultCatalogSettings } from './settings.ts';

const pool = { backend: { engine: 'simulated', slots: 8 } };
/** With every setting that a pool has. */
const fullPool = {
  backend: { engine: 'upstream', baseUrl: 'http://host' },
  waitBudgetMs: 5_000,
  maxWaiting: 10,
};
/** With every setting that a model has. */
const fullModel = {
  pool: 'gpu',
  backendModel: 'meta/llama-3:8b',
  displayName: 'Llama 3',
  createdAt: '2026-01-31',
  contextTokens: 8192,
  maxOutputTokens: 1024,
  requestTimeoutMs: 60_000,
  fallbacks: ['plain'],
};

function problemsOf(raw: unknown): readonly Problem[] {
  try {
    parseCatalog(raw);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

/** Matches an object that has a field for each of the settings. */
function namesIn(settings: object): unknown {
  return expect.objectContaining(
    Object.fromEntries(Object.keys(settings).map((name) => [name, expect.anything()])),
  );
}

describe('parseCatalog', () => {
  it('hands on every setting of a pool and of a model', () => {
    const { shape } = catalogSettings;
    const { pools, models } = parseCatalog({
      pools: { gpu: fullPool },
      models: { full: fullModel, plain: { pool: 'gpu' } },
    });
    expect(pools.get('gpu')).toEqual(namesIn(shape.pools.valueType.shape));
    expect(models.get('full')).toEqual(namesIn(shape.models.valueType.shape));
  });

  it('gives pools and models with their defaults', () => {
    const catalog = parseCatalog({
      pools: {
        sim: pool,
        gpu: fullPool,
      },
      models: {
        plain: { pool: 'sim' },
        full: fullModel,
        numbered: { pool: 'gpu', createdAt: 1_700_000_000_000 },
        timed: { pool: 'gpu', createdAt: '2026-01-31T01:30:00+02:00' },
      },
    });
    expect([...catalog.pools.values()]).toEqual([
      { name: 'sim', backend: pool.backend, waitBudgetMs: 30_000 },
      {
        name: 'gpu',
        backend: { engine: 'upstream', baseUrl: 'http://host' },
        waitBudgetMs: 5_000,
        maxWaiting: 10,
      },
    ]);
    expect(catalog.models.get('plain')).toEqual({
      id: 'plain',
      pool: 'sim',
      backendModel: 'plain',
      displayName: 'plain',
      createdAt: 0,
      fallbacks: [],
    });
    expect(catalog.models.get('full')).toEqual({
      id: 'full',
      pool: 'gpu',
      backendModel: 'meta/llama-3:8b',
      displayName: 'Llama 3',
      createdAt: Date.UTC(2026, 0, 31),
      contextTokens: 8192,
      maxOutputTokens: 1024,
      requestTimeoutMs: 60_000,
      fallbacks: ['plain'],
    });
    expect(catalog.models.get('numbered')?.createdAt).toBe(1_700_000_000_000);
    expect(catalog.models.get('timed')?.createdAt).toBe(Date.UTC(2026, 0, 30, 23, 30));
    expect(catalog.warnings).toEqual([]);
  });

  it('lists every mistake of a wrong file at once, by path', () => {
    const problems = problemsOf({
      pooles: {},
      pools: {
        'Big Pool': { backend: {}, waitBudgetMS: 3 },
        gpu: { backend: { engine: 'upstream' }, maxWaiting: -1, waitBudgetMs: 0.5 },
        bare: {},
      },
      models: {
        'a b': { pool: 'gpu' },
        'a*': { pool: 'gpu' },
        '': { pool: 'gpu' },
        ['x'.repeat(201)]: { pool: 'gpu' },
        lost: { pool: 'gpo' },
        odd: { pool: 'gpu', contxtTokens: 1, createdAt: 'yesterday', maxOutputTokens: 0, displayName: '' },
        poolless: {},
      },
      aliases: {
        ring: 'round',
        round: 'ring',
        self: 'self',
        'gpt-*': 'od',
        'a*b*': 'odd',
        number: 5,
      },
    });
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'pools["Big Pool"].backend.engine: is missing; expected text',
      'pools["Big Pool"].waitBudgetMS: unknown name; did you mean waitBudgetMs?',
      'pools.gpu.waitBudgetMs: expected a whole number, got a fraction',
      'pools.gpu.maxWaiting: must be at least 0',
      'pools.bare.backend: is missing; expected a group of names',
      'models.odd.displayName: must have at least 1 character',
      'models.odd.createdAt: must be a date such as 2026-01-31 or epoch milliseconds',
      'models.odd.maxOutputTokens: must be at least 1',
      'models.odd.contxtTokens: unknown name; did you mean contextTokens?',
      'models.poolless.pool: is missing; expected text',
      'aliases.number: expected text, got a number',
      'pooles: unknown name; did you mean pools?',
      'pools["Big Pool"]: has a name that is not 1 to 63 of a-z, 0-9 and -',
      'models["a b"]: has a name with spaces or invisible characters',
      'models.a*: has a name with *; patterns belong to aliases',
      'models[""]: has an empty name',
      `models.${'x'.repeat(201)}: has a name of more than 200 characters`,
      'aliases.a*b*: has a name with more than one *',
      'models.lost.pool: there is no pool "gpo"; did you mean gpu?',
      'aliases.ring: leads in a circle: ring → round → ring',
      'aliases.round: leads in a circle: round → ring → round',
      'aliases.self: leads in a circle: self → self',
      'aliases.gpt-*: there is no model or alias "od"; did you mean odd?',
    ]);
  });

  // If each alias took a look at all of them, this would outlast the limit of a test several times.
  it('follows 30,000 aliases', () => {
    const aliases = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`alias-${index}`, 'm']));
    const { resolve } = parseCatalog({ pools: { sim: pool }, models: { m: { pool: 'sim' } }, aliases });
    expect(resolve('alias-29999')?.id).toBe('m');
  });

  it('calls no alias part of a circle that only leads into one', () => {
    const problems = problemsOf({
      pools: { sim: pool },
      models: { m: { pool: 'sim' } },
      aliases: { entry: 'ring', ring: 'round', round: 'ring' },
    });
    expect(problems.map(({ path }) => path)).toEqual(['aliases.ring', 'aliases.round']);
  });

  it.each([
    ['quik', 'the alias that was probably meant', '; did you mean quick?'],
    ['fsat', 'neither the alias itself nor a pattern', '; known: m, quick'],
  ])('suggests for the target %s %s', (target, _what, hint) => {
    const problems = problemsOf({
      pools: { sim: pool },
      models: { m: { pool: 'sim' } },
      aliases: { quick: 'm', fast: target, 'fsat-*': 'm' },
    });
    expect(problems.map(({ message }) => message)).toEqual([`there is no model or alias "${target}"${hint}`]);
  });

  it('reports fallbacks that are no other models, each where it stands', () => {
    const problems = problemsOf({
      pools: { sim: pool },
      models: {
        first: { pool: 'sim', fallbacks: ['second', 'first', 'secnd', 'second', 'other'] },
        second: { pool: 'sim', fallbacks: ['first'] },
      },
      aliases: { other: 'second' },
    });
    expect(problems).toEqual([
      { path: 'models.first.fallbacks[1]', message: 'is the model itself' },
      { path: 'models.first.fallbacks[2]', message: 'there is no model "secnd"; did you mean second?' },
      { path: 'models.first.fallbacks[3]', message: 'is there twice' },
      { path: 'models.first.fallbacks[4]', message: 'there is no model "other"; known: second' },
    ]);
  });

  it.each(['gpu_1', 'gpu ', 'x'.repeat(64), '-é'])('no pool can be named %j', (name) => {
    const problems = problemsOf({ pools: { [name]: pool }, models: { a: { pool: name } } });
    expect(problems.map(({ message }) => message)).toEqual([
      'has a name that is not 1 to 63 of a-z, 0-9 and -',
    ]);
  });

  it('reports the mistakes of backends with its own, if somebody knows the engines', () => {
    const backend = { engine: 'upstream', baseUrl: 'nowhere' };
    const asked: unknown[] = [];
    const pools = {
      gpu: { backend, maxWaiting: -1 },
      bare: {},
      odd: { backend: 5 },
      unnamed: { backend: { engine: '' } },
    };
    const raw = { pools, models: {} };
    const check = () =>
      parseCatalog(raw, {
        checkBackend: (...question) => {
          asked.push(question);
          return [{ path: 'pools.gpu.backend.baseUrl', message: 'is no URL' }];
        },
      });
    expect(check).toThrow(/pools\.gpu\.maxWaiting.*\n(.*\n)*.*pools\.gpu\.backend\.baseUrl: is no URL/);
    expect(asked).toEqual([[backend, 'pools.gpu.backend', 'gpu']]);
  });

  it.each([
    [undefined, [{ path: '', message: 'is missing; expected a group of names' }]],
    [[], [{ path: '', message: 'expected a group of names, got a list' }]],
    [
      { pools: [], models: null },
      [
        { path: 'pools', message: 'expected a group of names, got a list' },
        { path: 'models', message: 'expected a group of names, got nothing' },
      ],
    ],
  ])('says what is wrong with %j', (raw, problems) => expect(problemsOf(raw)).toEqual(problems));

  it.each(['a\tb', 'a\u0000b', 'a\u200bb', 'a\u00a0b', 'a\u202eb'])('refuses the model id %j', (id) => {
    expect(problemsOf({ pools: { sim: pool }, models: { [id]: { pool: 'sim' } } })).toHaveLength(1);
  });

  it('refuses names that would change what an object is', () => {
    const raw = '{"pools":{"sim":{"backend":{"engine":"x"}}},"models":{"__proto__":{"pool":"sim"}}}';
    expect(problemsOf(JSON.parse(raw))).toEqual([
      { path: 'models.__proto__', message: 'has a name that is not allowed' },
    ]);
  });

  it.each(['x'.repeat(200), 'llama3:8b', 'meta-llama/Llama-3.1-8B', 'modèle', '模型', 'a@b+c~d'])(
    'takes the model id %.20s',
    (id) => {
      expect(parseCatalog({ pools: { sim: pool }, models: { [id]: { pool: 'sim' } } }).resolve(id)?.id).toBe(
        id,
      );
    },
  );

  it('does not take inherited properties of objects for names in the file', () => {
    const raw = { pools: { sim: pool }, models: { m: { pool: 'constructor' } }, aliases: { a: 'toString' } };
    expect(problemsOf(raw).map(({ path }) => path)).toEqual(['models.m.pool', 'aliases.a']);
    expect(
      parseCatalog({ pools: { sim: pool }, models: { m: { pool: 'sim' } } }).resolve('constructor'),
    ).toBeUndefined();
  });

  it('warns of settings that are legal but probably not intended', () => {
    const { warnings } = parseCatalog({
      pools: { sim: pool, idle: pool },
      models: { m: { pool: 'sim', contextTokens: 10, maxOutputTokens: 20 } },
      aliases: { m: 'm' },
    });
    expect(warnings).toEqual([
      'pools.idle: no model is served by this pool',
      "models.m.maxOutputTokens: is more than the model's contextTokens",
      'aliases.m: has the name of a model, which wins',
    ]);
    const limits = [{ maxOutputTokens: 20 }, { contextTokens: 10 }, { contextTokens: 5, maxOutputTokens: 5 }];
    for (const limit of limits) {
      const settings = { pools: { sim: pool }, models: { m: { pool: 'sim', ...limit } } };
      expect(parseCatalog(settings).warnings).toEqual([]);
    }
    expect(parseCatalog({ pools: {}, models: {} }).warnings).toEqual([
      'models: the catalogue has no model, every request will be refused',
    ]);
  });
});

describe('resolve', () => {
  const { resolve } = parseCatalog({
    pools: { sim: pool },
    models: { small: { pool: 'sim' }, large: { pool: 'sim' }, 'gpt-5': { pool: 'sim' } },
    aliases: {
      fast: 'small',
      faster: 'fast',
      'gpt-*': 'small',
      'gpt-4*': 'large',
      'gpt-4-mini': 'small',
      '*-large': 'large',
      'x*y': 'small',
      'mini-*-mini': 'small',
      'claude-*': 'faster',
    },
  });

  it.each([
    ['small', 'small', 'an id'],
    ['fast', 'small', 'an alias'],
    ['faster', 'small', 'an alias of an alias'],
    ['gpt-5', 'gpt-5', 'an id before a pattern'],
    ['gpt-4-mini', 'small', 'an alias before a pattern'],
    ['gpt-3', 'small', 'a pattern'],
    ['gpt-', 'small', 'a pattern whose * stands for nothing'],
    ['gpt-4o', 'large', 'the longer of two patterns'],
    ['gpt-4-large', 'large', 'the longest, its literal part counted on both sides of the *'],
    ['gpt-large', 'large', 'a suffix longer than the prefix'],
    ['claude-opus', 'small', 'a pattern that leads over aliases'],
    ['xay', 'small', 'a pattern with both sides'],
    ['xy', 'small', 'both sides with nothing between'],
    [`gpt-${'y'.repeat(196)}`, 'small', 'a pattern, for as long a name as may be'],
  ])('%s is %s: %s', (name, id) => expect(resolve(name)?.id).toBe(id));

  it.each([
    '',
    'x',
    'Small',
    'gpt',
    'mini-mini',
    'constructor',
    '__proto__',
    'y'.repeat(100_000),
    `gpt-${'y'.repeat(1_000)}`,
  ])('%.20s is nothing', (name) => expect(resolve(name)).toBeUndefined());

  it('takes the first pattern in the file if two have literal parts of equal length', () => {
    const catalog = parseCatalog({
      pools: { sim: pool },
      models: { a: { pool: 'sim' }, b: { pool: 'sim' } },
      aliases: { 'x-*': 'b', '*-y': 'a' },
    });
    expect(catalog.resolve('x-y')?.id).toBe('b');
  });

  it('gives the same answer again, even after thousands of other names', () => {
    for (let index = 0; index < 5_000; index++) expect(resolve(`gpt-${index}`)?.id).toBeDefined();
    expect(resolve('gpt-4o')?.id).toBe('large');
    expect(resolve('gpt-4o')?.id).toBe('large');
    expect(resolve('unknown')).toBeUndefined();
    expect(resolve('unknown')).toBeUndefined();
  });
});

it('the built-in catalogue serves every vendor’s names with the simulated model', () => {
  const catalog = parseCatalog(defaultCatalogSettings);
  expect(catalog.warnings).toEqual([]);
  for (const name of ['sim', 'gpt-5.2', 'o3-mini', 'claude-opus-4-5', 'gemini-2.5-flash']) {
    expect(catalog.resolve(name)?.id).toBe('sim');
  }
  expect(catalog.resolve('llama')).toBeUndefined();
  expect(toPublicModels(catalog, () => true)).toEqual([
    {
      id: 'sim',
      displayName: 'Simulated model',
      createdAt: 0,
      contextTokens: 131_072,
      maxOutputTokens: 32_768,
    },
  ]);
});

it('lists leave out what is unknown', () => {
  const catalog = parseCatalog({ pools: { sim: pool }, models: { m: { pool: 'sim', requestTimeoutMs: 1 } } });
  expect(toPublicModels(catalog, () => true)).toEqual([{ id: 'm', displayName: 'm', createdAt: 0 }]);
});

it('lists show what a caller may use, and an alias only if its model’s own name is not allowed', () => {
  const catalog = parseCatalog({
    pools: { sim: pool },
    models: { one: { pool: 'sim', contextTokens: 9 }, two: { pool: 'sim' } },
    aliases: { first: 'one', 'first-*': 'one', second: 'two', two: 'one' },
  });
  const listed = (...names: string[]) => toPublicModels(catalog, (name) => names.includes(name));
  expect(listed('one', 'first', 'second').map(({ id }) => id)).toEqual(['one', 'second']);
  expect(listed('first', 'first-*')).toEqual([
    { id: 'first', displayName: 'one', createdAt: 0, contextTokens: 9 },
  ]);
  expect(listed('two').map(({ id }) => id)).toEqual(['two']);
});
