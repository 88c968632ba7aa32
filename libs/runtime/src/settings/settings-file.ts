import { readFile } from 'node:fs/promises';
import { type Document, isScalar, LineCounter, parseAllDocuments, visit } from 'yaml';
import { ConfigError, type Problem } from './config-error.ts';

/** Reads one YAML or JSON document. Throws `ConfigError` with file, line and column of every syntax mistake. */
export async function readSettingsFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError(path, [{ path: '', message: `is not readable (${codeOf(error)})` }]);
  }
  return parseSettings(text, path);
}

/** Parses the text of a settings file, whose `path` is named in mistakes. An empty document is `undefined`. */
export function parseSettings(text: string, path: string): unknown {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    // The parser would compare each key with all before it: with 20,000 models and as many aliases, 14 s of every start.
    uniqueKeys: false,
  });
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const problemAt = (offset: number, message: string): Problem => {
    const { line, col } = lines.linePos(offset);
    return { path: `${path}:${line}:${col}`, message };
  };
  const problems = documents.flatMap((document) => [
    ...[...document.errors, ...document.warnings].map(({ pos, message }) =>
      problemAt(pos[0], lowerFirst(message)),
    ),
    ...repeatedKeys(document).map((offset) => problemAt(offset, 'map keys must be unique')),
  ]);
  if (documents.length > 1) problems.push({ path: '', message: 'holds several documents; one is expected' });
  if (problems.length > 0) throw new ConfigError(path, problems);
  try {
    return documents[0]?.toJS() ?? undefined;
  } catch (error) {
    // YAML aliases are resolved here and not while parsing, so the mistake of an unknown or exploding one has no
    // position.
    const message = error instanceof Error ? lowerFirst(error.message) : 'is not valid';
    throw new ConfigError(path, [{ path, message }]);
  }
}

/** Where keys stand that their map has already. */
function repeatedKeys(document: Document.Parsed): number[] {
  const offsets: number[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) offsets.push(key.range?.[0] ?? 0);
        known.add(key.value);
      }
    },
  });
  return offsets;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
