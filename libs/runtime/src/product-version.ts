import { readFileSync } from 'node:fs';

/** The version of the product, as its packages say. */
export function productVersion(): string {
  // A file of ours. The packages of the house are released together, with one version.
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
