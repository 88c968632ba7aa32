import { readdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Parts of the ingress that its package does not export; the fast path is exported by another one by now. */
export interface IngressParts {
  openFastPath(server: Server, options: Record<string, unknown>): void;
  Relay: new (
    options: Record<string, unknown>,
  ) => {
    push(choice: number, events: readonly unknown[]): void;
  };
  AttemptMachine: new (
    effects: Record<string, unknown>,
    facts: Record<string, unknown>,
  ) => {
    claimed(worker: string, attempt: number): void;
    frame(worker: string, attempt: number, sequence: number, events: unknown[]): void;
  };
}

/** A library of a checkout, which need not be this one. */
export async function importLibrary<Library>(root: string, name: string): Promise<Library> {
  // A comparison of commits assumes that both have this library's present interface.
  return (await importFile(join(root, 'libs', name, 'src/index.ts'))) as Library;
}

/** The parser of an upstream's answers, which its library does not export. */
export type ResponseParser = new (sink: {
  head(): void;
  body(bytes: Buffer, start: number, end: number): void;
  end(): void;
}) => { push(bytes: Buffer, end: number): void };

export async function importResponseParser(root: string): Promise<ResponseParser> {
  // Described here, too, for the same reason.
  const file = (await importFile(join(root, 'libs/http/src/response-parser.ts'))) as {
    ResponseParser: ResponseParser;
  };
  return file.ResponseParser;
}

/** Its fast path has moved from the first to the second. */
const ingressFolders = ['apps/ingress/src', 'libs/http/src'] as const;

/**
 * A part of a checkout's ingress, found by its file name, since its folder has changed between commits; absent if the
 * checkout has none.
 */
export async function findIngressPart<Name extends keyof IngressParts>(
  root: string,
  file: string,
  name: Name,
): Promise<IngressParts[Name] | undefined> {
  const path = ingressFolders
    .flatMap((folder) => filesOf(join(root, folder)))
    .find((candidate) => basename(candidate) === file);
  if (path === undefined) return undefined;
  // As above; the parts are described here because an app exports nothing.
  const parts = (await importFile(path)) as IngressParts;
  return parts[name];
}

/** The same for a part that every checkout has. */
export async function importIngressPart<Name extends keyof IngressParts>(
  root: string,
  file: string,
  name: Name,
): Promise<IngressParts[Name]> {
  const part = await findIngressPart(root, file, name);
  if (part === undefined) throw new Error(`the ingress in ${root} has no ${file}`);
  return part;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { encoding: 'utf8', recursive: true }).map((path) => join(folder, path));
}

function importFile(path: string): Promise<unknown> {
  return import(pathToFileURL(path).href);
}
