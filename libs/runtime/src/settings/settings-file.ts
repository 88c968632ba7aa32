import { readFile } from 'node:fs/promises';
import { LineCounter, parseAllDocuments } from 'yaml';
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
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true });
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const problems: Problem[] = documents.flatMap((document) =>
    [...document.errors, ...document.warnings].map((error) => {
      const { line, col } = lines.linePos(error.pos[0]);
      return { path: `${path}:${line}:${col}`, message: lowerFirst(error.message) };
    }),
  );
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
