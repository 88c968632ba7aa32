import { readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** More links than any system follows. */
const mostLinks = 40;

/** What a file has in common with all other names of it, by whatever links; it need not be there yet. */
export async function placeOf(path: string): Promise<string> {
  return (await contentsOf(path)) ?? linkedPath(path, mostLinks);
}

/** What all names of a file's contents have in common; undefined for a pipe, a device or nothing. */
export async function contentsOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found?.isFile() ? `${found.dev} ${found.ino}` : undefined;
}

/** The path to which a link leads, whether or not anything is there. */
async function linkedPath(path: string, links: number): Promise<string> {
  const folder = await realpath(dirname(path)).catch(() => resolve(dirname(path)));
  const target = links > 0 ? await readlink(path).catch(() => undefined) : undefined;
  return target === undefined ? join(folder, basename(path)) : linkedPath(resolve(folder, target), links - 1);
}
