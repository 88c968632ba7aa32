import { isJsonObject } from '@sluice/canonical';
import { type Environment, namesIn, nearestSpelling, type Problem, printPath } from '@sluice/runtime';
import { type BackendKind, defineBackendKind, type ParsedBackend } from './backend.ts';
import { llamaCpp } from './llama-cpp/kind.ts';
import { resolveSecretReferences } from './secret-references.ts';
import { simulated } from './simulated/kind.ts';
import { upstream } from './upstream/kind.ts';

/** The only list of engines. An engine's module is loaded when a backend of its kind is created, not before. */
export const engineKinds: readonly BackendKind[] = [
  defineBackendKind(simulated),
  defineBackendKind(upstream),
  defineBackendKind(llamaCpp),
];

/** How the options of all engines are spelt. */
export const optionNames = (): string[] => engineKinds.flatMap((kind) => namesIn(kind.options));

/**
 * Checks a pool's `backend` record, `{ engine: "simulated", … }`, by the schema of its engine. Reports all problems
 * together, each with its place below `path`. No message contains a value of the record.
 */
export function parseBackend(raw: unknown, path: string, environment: Environment): ParsedBackend {
  const names = engineKinds.map((kind) => kind.kind);
  if (!isJsonObject(raw)) {
    return { problems: [{ path, message: `expected an object with an engine, one of ${names.join(', ')}` }] };
  }
  const { engine, ...options } = raw;
  const kind = engineKinds.find((candidate) => candidate.kind === engine);
  if (!kind) {
    const nearest = typeof engine === 'string' ? nearestSpelling(engine, names) : undefined;
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    return {
      problems: [{ path: printPath(['engine'], path), message: `must be one of ${names.join(', ')}${hint}` }],
    };
  }
  const problems: Problem[] = [];
  const resolved = resolveSecretReferences(options, path, environment, problems);
  const parsed = kind.parse(resolved, path);
  // The schema may also complain about what stands for a missing variable.
  const missing = new Set(problems.map((problem) => problem.path));
  problems.push(...parsed.problems.filter((problem) => !missing.has(problem.path)));
  return problems.length > 0 ? { problems } : parsed;
}
