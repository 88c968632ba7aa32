import { readFileSync } from 'node:fs';

/** The version of the product, from its package. */
export function productVersion(): string {
  // The file is ours. All packages of the product are released together, with one version.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
