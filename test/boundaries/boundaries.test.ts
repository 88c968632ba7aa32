import { createIngressMetrics, createWorkerMetrics } from '@sluice/runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { findCycles } from './cycles.ts';
import { findForbiddenEdges } from './edges.ts';
import { type Project, readProjects } from './project.ts';
import { rules } from './rules.ts';
import {
  findFlaws,
  findForbiddenImports,
  findNamedFormats,
  findUnregistered,
  importedFiles,
  readSources,
  type Source,
} from './source.ts';

let projects: Project[];
let sources: Map<Project, Source[]>;

beforeAll(async () => {
  projects = await readProjects();
  sources = new Map(
    await Promise.all(projects.map(async (project) => [project, await readSources(project)] as const)),
  );
});

describe('the house', () => {
  it('is seen whole', () => {
    const names = projects.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['@sluice/canonical', '@sluice/ingress', '@sluice/worker']));
    expect(projects.length).toBeGreaterThanOrEqual(15);
    expect(projects.flatMap((project) => project.projects).length).toBeGreaterThan(30);
  });

  it('has no edge that layers or sides forbid', () => {
    expect(findForbiddenEdges(projects, rules)).toEqual([]);
  });

  it('has no cycle of projects', () => {
    expect(findCycles(new Map(projects.map(({ name, projects }) => [name, projects])))).toEqual([]);
  });

  it('has no cycle of files', () => {
    const imported = importedFiles([...sources.values()].flat());
    expect([...imported.values()].flat().length).toBeGreaterThan(1_000);
    expect(findCycles(imported)).toEqual([]);
  });

  it('imports only through declared dependencies and index files', () => {
    const complaints = [...sources].flatMap(([project, files]) =>
      files.flatMap((source) => findForbiddenImports(project, source)),
    );
    expect(complaints).toEqual([]);
  });

  it('has no file that is too long and no word that must not be there', () => {
    expect([...sources.values()].flat().flatMap(findFlaws)).toEqual([]);
  });

  it('serves every format, engine and limit', () => {
    expect(findUnregistered([...sources.values()].flat())).toEqual([]);
  });

  it('asks a format what holds for it, wherever it serves', () => {
    expect(findNamedFormats([...sources.values()].flat())).toEqual([]);
  });

  it('writes every metric that it defines', () => {
    const texts = [...sources.values()].flat().flatMap(({ isTest, text }) => (isTest ? [] : [text]));
    const names = new Set(Object.keys({ ...createIngressMetrics(), ...createWorkerMetrics() }));
    names.delete('registry');
    const isWritten = (name: string) => texts.some((text) => new RegExp(`\\.${name}\\b`).test(text));
    expect([...names].filter((name) => !isWritten(name))).toEqual([]);
  });

  it('tests every project that runs', () => {
    const untested = [...sources].filter(([, files]) => !files.some(({ path }) => path.endsWith('.test.ts')));
    expect(untested.map(([project]) => project.name)).toEqual([]);
  });
});

describe('findForbiddenEdges', () => {
  it.each([
    ['a layer above', { layer: 'base' }, { layer: 'infra' }, /layer:base may not depend on layer:infra/],
    ['a neighbour in the same layer', { layer: 'infra' }, { layer: 'infra' }, /layer:infra may not/],
    ['an app', { layer: 'app' }, { layer: 'app' }, /layer:app may not depend on layer:app/],
    [
      'the other side',
      { layer: 'app', side: 'ingress' },
      { layer: 'engine', side: 'worker' },
      /side:ingress may/,
    ],
    ['code for tests', { layer: 'app' }, { layer: 'testing' }, /must not use what is for tests/],
  ])('forbids %s', (_what, from, to, complaint) => {
    const target = createProject('target', to);
    const source = createProject('source', { ...from, uses: [target] });
    expect(findForbiddenEdges([source, target], rules)).toEqual([expect.stringMatching(complaint)]);
  });

  it('allows code for tests in tests', () => {
    const testing = createProject('testing', { layer: 'testing' });
    const source = { ...createProject('source', { layer: 'infra', uses: [testing] }), dependencies: [] };
    expect(findForbiddenEdges([source, testing], rules)).toEqual([]);
  });

  it('forbids a package that is banned for a tag, except where it is at home', () => {
    const packages = { layer: 'base', packages: ['pino'] };
    expect(findForbiddenEdges([createProject('canonical', packages)], rules)).toEqual([
      'canonical → pino: banned for layer:base',
    ]);
    expect(findForbiddenEdges([createProject('@sluice/runtime', packages)], rules)).toEqual([]);
  });

  it('forbids a project without a place', () => {
    const lost = { ...createProject('lost', {}), tags: ['side:shared'] };
    expect(findForbiddenEdges([lost], rules)).toEqual(['lost must have one known layer: tag, has none']);
  });
});

describe('findCycles', () => {
  it('finds a circle once, wherever it starts', () => {
    const circle = new Map([
      ['a', ['b', 'e']],
      ['b', ['c']],
      ['c', ['a']],
      ['d', ['a', 'e']],
    ]);
    expect(findCycles(circle)).toEqual(['a → b → c → a']);
  });
});

describe('importedFiles', () => {
  it('follows values, types and modules that are loaded late, and no package', () => {
    const text = [
      "import { a } from './a.ts';",
      "import type { B } from '../b.ts';",
      "export * from './c.ts';",
      `const d = await ${'import'}('./d.ts');`,
      "import 'vitest';",
    ].join('\n');
    expect(importedFiles([{ path: 'libs/x/src/y.ts', text, isTest: false }])).toEqual(
      new Map([
        ['libs/x/src/y.ts', ['libs/x/src/a.ts', 'libs/x/b.ts', 'libs/x/src/c.ts', 'libs/x/src/d.ts']],
      ]),
    );
  });
});

describe('findForbiddenImports', () => {
  const project = { ...createProject('@sluice/formats', {}), root: 'libs/formats', dependencies: ['zod'] };
  const complain = (text: string, path = 'libs/formats/src/codec.ts') =>
    findForbiddenImports(project, { path, text, isTest: path.endsWith('.test.ts') });

  it.each([
    ["import { a } from '@sluice/canonical/src/json.ts';", /past the library's index/],
    ["import { a } from '../../canonical/src/json.ts';", /relative path out of its project/],
    ["export * from 'fastify';", /not among the dependencies/],
    [`const engine = await ${'import'}('bullmq');`, /not among the dependencies/],
    ["import 'vitest';", /not among the dependencies/],
    ["import { readFile } from 'fs';", /without node:/],
  ])('forbids %s', (text, complaint) => {
    expect(complain(text)).toEqual([expect.stringMatching(complaint)]);
  });

  it('allows neighbours, declared packages and, in tests, what is for tests', () => {
    expect(complain("import { z } from 'zod';\nimport { a } from './json.ts';")).toEqual([]);
    expect(complain("import { it } from 'vitest';", 'libs/formats/src/codec.test.ts')).toEqual([]);
  });
});

describe('findUnregistered', () => {
  it.each([
    ['a format', 'libs/formats/src', 'fourth/index.ts'],
    ['an engine', 'libs/engines/src', 'fourth/kind.ts'],
    ['a limit', 'libs/admission/src', 'limits/fourth.ts'],
  ])('finds %s whose line is missing', (_what, folder, file) => {
    const added = { path: `${folder}/${file}`, text: '', isTest: false };
    const registry = (text: string) => ({ path: `${folder}/registry.ts`, text, isTest: false });
    expect(findUnregistered([added, registry('')])).toEqual([
      `${folder}/${file} is not in ${folder}/registry.ts`,
    ]);
    expect(findUnregistered([added, registry(`import { fourth } from './${file}';`)])).toEqual([]);
  });
});

describe('findNamedFormats', () => {
  const format = { path: 'libs/formats/src/fourth/index.ts', text: '', isTest: false };
  const find = (path: string, text: string, isTest = false) =>
    findNamedFormats([format, { path, text, isTest }]);

  it.each(["format === 'fourth'", "case 'fourth':", "new Set(['fourth'])"])('finds %s', (text) => {
    expect(find('apps/ingress/src/a.ts', text)).toEqual([
      expect.stringMatching(/^apps\/ingress\/src\/a\.ts names the format 'fourth'$/),
    ]);
    expect(find('libs/engines/src/a.ts', text)).toHaveLength(1);
  });

  it('lets formats, tests and what measures name them, and leaves other words alone', () => {
    expect(find('libs/formats/src/fourth/wire.ts', "'fourth'")).toEqual([]);
    expect(find('libs/engines/src/a.ts', "'fourth'", true)).toEqual([]);
    expect(find('apps/loadtest/src/a.ts', "'fourth'")).toEqual([]);
    expect(find('libs/engines/src/a.ts', "'fourth word' + fourth")).toEqual([]);
  });
});

describe('findFlaws', () => {
  const flaws = (text: string, isTest = false) => findFlaws({ path: 'a.ts', text, isTest });

  it('finds unfinished work, the type that turns checking off, and lonely tests', () => {
    expect(flaws(`// ${'TO'}DO later`)).toHaveLength(1);
    expect(flaws(`let a${':'} any;`)).toHaveLength(1);
    expect(flaws(`b(c ${'as'} any)`)).toHaveLength(1);
    expect(flaws(`it${'.only'}('x')`, true)).toHaveLength(1);
    expect(flaws('// as any reader knows: any upstream may fail')).toEqual([]);
  });

  it('finds a production file that is too long', () => {
    expect(flaws('\n'.repeat(301))).toEqual(['a.ts has 301 lines, more than 300']);
    expect(flaws('\n'.repeat(301), true)).toEqual([]);
  });
});

interface Traits {
  layer?: string;
  side?: string;
  uses?: readonly Project[];
  packages?: readonly string[];
}

function createProject(
  name: string,
  { layer = 'base', side = 'shared', uses = [], packages = [] }: Traits,
): Project {
  const projects = uses.map((used) => used.name);
  return {
    name,
    root: name,
    tags: [`layer:${layer}`, `side:${side}`],
    projects,
    dependencies: [...projects, ...packages],
    devDependencies: [],
  };
}
