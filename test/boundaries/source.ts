import { readdir, readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join, posix, relative, sep } from 'node:path';
import { repository } from '../support/repository.ts';
import type { Project } from './project.ts';

/** A source file of a project. */
export interface Source {
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
  /** True for tests, conformance suites and fixtures, which no running service loads. */
  readonly isTest: boolean;
}

const lineLimit = 300;
/** Put together from halves so that this file passes its own check. */
const forbidden: readonly { name: string; pattern: RegExp }[] = [
  { name: `${'TO'}DO`, pattern: /\bTODO\b/ },
  { name: `${'FIX'}ME`, pattern: /\bFIXME\b/ },
  { name: 'the type any', pattern: /(:|\bas|<|\|)\s*any\b(?=\s*[;,)=>|[\]{}]|\s*$)/m },
  { name: 'a test that runs alone or never', pattern: /\b(it|describe|test)\.(only|skip)\b/ },
];
const importPatterns = [
  /^(?:import|export|\})[^'\n]* from '([^'\n]+)'/gm,
  /^import '([^'\n]+)'/gm,
  /\bimport\('([^'\n]+)'\)/g,
];

/** Names of tests and of files that only tests use: suites, fixtures, data generators, settings of test runners. */
const testFile =
  /\.test\.ts$|-suite\.ts$|\.config\.ts$|\/(arbitrary|test-[a-z-]+)\.ts$|\/fixtures\/|^test\/|^libs\/testing\//;

/** The folder of a format, which bears its name. */
const formatFile = /^libs\/formats\/src\/([^/]+)\/index\.ts$/;

/** The lists of what can be added, by the files that must stand in them. An unused import is the linter's to find. */
const registries: readonly { list: string; files: RegExp }[] = [
  { list: 'libs/formats/src/registry.ts', files: formatFile },
  { list: 'libs/engines/src/registry.ts', files: /^libs\/engines\/src\/[^/]+\/kind\.ts$/ },
  { list: 'libs/admission/src/registry.ts', files: /^libs\/admission\/src\/limits\/[^/]+\.ts$/ },
];

/** The code that serves, except the formats themselves. */
const serving = /^(?:apps\/(?:ingress|worker|cli)|libs\/(?!formats\/)[^/]+)\//;

/** Where one format has to be named, since what is said there holds for no other that may be added. */
const mayNameFormats: ReadonlySet<string> = new Set([
  // What a backend speaks if its settings do not say it.
  'libs/engines/src/upstream/options.ts',
  // The only format whose clients know what this failure is called.
  'libs/engines/src/upstream/answer/failed-call.ts',
]);

/** Reads every TypeScript file of a project, except built files and installed packages. */
export async function readSources(project: Project): Promise<Source[]> {
  const folder = join(repository, project.root);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !/\/(dist|node_modules)\//.test(path));
  return Promise.all(
    files.map(async (path) => ({
      path,
      text: await readFile(join(repository, path), 'utf8'),
      isTest: testFile.test(path),
    })),
  );
}

/** One sentence for every import that leaves its project other than by a declared dependency. */
export function findForbiddenImports(project: Project, source: Source): string[] {
  const declared = new Set([
    ...project.dependencies,
    ...(source.isTest ? [...project.devDependencies, 'vitest', 'fast-check'] : []),
  ]);
  return importsOf(source.text).flatMap((specifier) => {
    const complaint = judgeImport(specifier, source.path, project, declared);
    return complaint === undefined ? [] : [`${source.path} imports ${specifier}: ${complaint}`];
  });
}

/** The files that each file imports by a relative path, for types alone too. */
export function importedFiles(sources: readonly Source[]): Map<string, string[]> {
  return new Map(
    sources.map(({ path, text }) => [
      path,
      importsOf(text).flatMap((specifier) =>
        specifier.startsWith('.') ? [posix.join(posix.dirname(path), specifier)] : [],
      ),
    ]),
  );
}

/** One sentence for every forbidden word in the code, and for a file that is too long. */
export function findFlaws({ path, text, isTest }: Source): string[] {
  const found = forbidden
    .filter(({ pattern }) => pattern.test(text))
    .map(({ name }) => `${path} has ${name}`);
  const lines = text.split('\n').length - 1;
  const isTooLong = !isTest && lines > lineLimit;
  return isTooLong ? [...found, `${path} has ${lines} lines, more than ${lineLimit}`] : found;
}

/** One sentence for every format, engine and limit that its registry does not import, so that it is never served. */
export function findUnregistered(sources: readonly Source[]): string[] {
  return registries.flatMap(({ list, files }) => {
    const text = sources.find(({ path }) => path === list)?.text ?? '';
    const imported = new Set(importsOf(text).map((specifier) => posix.join(posix.dirname(list), specifier)));
    return sources
      .filter(({ path, isTest }) => !isTest && files.test(path) && !imported.has(path))
      .map(({ path }) => `${path} is not in ${list}`);
  });
}

/** One sentence for every file that names a format, so that a new one might have to be named there, too. */
export function findNamedFormats(sources: readonly Source[]): string[] {
  const names = sources.flatMap(({ path }) => formatFile.exec(path)?.[1] ?? []);
  // As this house quotes: double quotes are in comments, about what others write.
  const named = new RegExp(`'(?:${names.join('|')})'`);
  return sources
    .filter(({ path, isTest }) => !isTest && serving.test(path) && !mayNameFormats.has(path))
    .flatMap(({ path, text }) => {
      const [name] = named.exec(text) ?? [];
      return name === undefined ? [] : [`${path} names the format ${name}`];
    });
}

function judgeImport(
  specifier: string,
  path: string,
  project: Project,
  declared: ReadonlySet<string>,
): string | undefined {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(path), specifier);
    return target.startsWith(`${project.root}/`) ? undefined : 'a relative path out of its project';
  }
  if (specifier.startsWith('node:')) return undefined;
  if (builtinModules.includes(specifier)) return 'a module of Node without node:';
  const parts = specifier.split('/');
  const name = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  if (name.startsWith('@sluice/') && name !== specifier) return "past the library's index.ts";
  return declared.has(name) ? undefined : 'not among the dependencies for this kind of file';
}

function importsOf(text: string): string[] {
  return importPatterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier]) => specifier ?? ''),
  );
}
