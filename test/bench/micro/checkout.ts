import type { Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where the ingress has its files in a checkout. */
export const ingressSource = 'apps/ingress/src';

/** The parts of the ingress that have no door of their own to the outside. */
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

/** A library of some checkout, which need not be this one. */
export async function importLibrary<Library>(root: string, name: string): Promise<Library> {
  // Whoever compares commits takes it that both have this library's present interface.
  return (await importFile(join(root, 'libs', name, 'src/index.ts'))) as Library;
}

/** A part of the ingress of some checkout. */
export async function importIngress<Name extends keyof IngressParts>(
  root: string,
  file: string,
  name: Name,
): Promise<IngressParts[Name]> {
  // As above; the parts are described here because an app exports nothing.
  const parts = (await importFile(join(root, ingressSource, file))) as IngressParts;
  return parts[name];
}

function importFile(path: string): Promise<unknown> {
  return import(pathToFileURL(path).href);
}
