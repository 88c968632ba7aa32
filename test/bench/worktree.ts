import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';

/** A checkout of some commit beside this one. */
export interface Worktree {
  readonly root: string;
  /** The commit, as people write it; with a mark where something was applied to it. */
  readonly name: string;
  remove(): Promise<void>;
}

const run = promisify(execFile);
/** Where this repository's own packages are linked. */
const scope = '@sluice';

/**
 * Checks a commit out into a temporary folder that runs with the packages installed here, applying a patch where
 * one is given; `.` is the checkout as it is.
 */
export async function openWorktree(repository: string, revision: string, patch?: string): Promise<Worktree> {
  if (revision === '.' && patch === undefined) {
    return { root: repository, name: 'this checkout', remove: async () => undefined };
  }
  const git = async (folder: string, ...words: string[]) =>
    (await run('git', words, { cwd: folder })).stdout.trim();
  const commit = await git(repository, 'rev-parse', '--short', revision === '.' ? 'HEAD' : revision);
  const root = join(await realpath(await mkdtemp(join(tmpdir(), 'sluice-bench-tree-'))), commit);
  await git(repository, 'worktree', 'add', '--detach', root, commit);
  try {
    if (patch !== undefined) await git(root, 'apply', patch);
    await linkPackages(repository, root);
  } catch (thrown) {
    await git(repository, 'worktree', 'remove', '--force', root);
    throw thrown;
  }
  return {
    root,
    name: patch === undefined ? commit : `${commit} + ${basename(patch)}`,
    async remove() {
      await git(repository, 'worktree', 'remove', '--force', root);
      await rm(join(root, '..'), { recursive: true, force: true });
    },
  };
}

/** Links what is installed here; our own packages point into the new tree, not into this one. */
async function linkPackages(repository: string, root: string): Promise<void> {
  await linkAll(join(repository, 'node_modules'), join(root, 'node_modules'));
  const own = join(root, 'node_modules', scope);
  await mkdir(own, { recursive: true });
  for (const name of await readdir(join(repository, 'node_modules', scope))) {
    const folder = relative(repository, await realpath(join(repository, 'node_modules', scope, name)));
    if (existsSync(join(root, folder))) await symlink(join(root, folder), join(own, name));
  }
  // Packages that have a version of something for themselves.
  for (const group of ['apps', 'libs', 'deploy']) {
    for (const name of await readdir(join(repository, group))) {
      const installed = join(repository, group, name, 'node_modules');
      if (existsSync(installed) && existsSync(join(root, group, name))) {
        await symlink(installed, join(root, group, name, 'node_modules'));
      }
    }
  }
}

async function linkAll(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (name !== scope) await symlink(join(from, name), join(to, name));
  }
}
