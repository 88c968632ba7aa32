import { readFileSync } from 'node:fs';

/** The version of the product, as its package says. */
export function productVersion(): string {
  // Our own file.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
