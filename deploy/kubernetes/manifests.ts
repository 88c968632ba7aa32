import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** One object of a manifest, as it is written. */
export interface Manifest {
  /** The file that holds it. */
  file: string;
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  value: Record<string, unknown>;
}

/** The files of this folder that hold Kubernetes objects. */
export function manifestFiles(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'settings.yaml');
}

/** All objects of these files. Throws for a file that is not YAML. */
export function readManifests(files: readonly string[]): Manifest[] {
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(`${folder}${file}`, 'utf8')).map((document) => {
      if (document.errors[0]) throw document.errors[0];
      const value = document.toJS();
      return { file, apiVersion: value.apiVersion, kind: value.kind, metadata: value.metadata, value };
    }),
  );
}
