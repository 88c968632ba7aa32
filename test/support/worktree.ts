import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, symlink } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { openTemporaryFolder } from './temporary-folder.ts';

/** A checkout of another commit beside this one. */
export interface Worktree {
  readonly root: string;
  /** The commit, as people write it, marked if a patch was applied to it. */
  readonly name: string;
  remove(): Promise<void>;
}

/** A revision or a patch was refused; the message is git's, or says why. */
export class WorktreeError extends Error {}

const run = promisify(execFile);
/** Where this repository's own packages are linked. */
const scope = '@sluice';

/**
 * Checks a commit out into a temporary folder, where it runs with the packages installed here, and applies the patch if
 * there is one. `.` is the checkout as it is; with a patch, it must be that of a commit.
 */
export async function openWorktree(repository: string, revision: string, patch?: string): Promise<Worktree> {
  if (revision === '.' && patch === undefined) {
    return { root: repository, name: 'this checkout', remove: async () => undefined };
  }
  const isAsItIs = revision === '.';
  // A patch goes to a checkout of a commit, in which these changes would be missing without a word.
  if (isAsItIs && (await git(repository, 'status', '--porcelain', '--untracked-files=no')) !== '')
    throw new WorktreeError('a patch goes to a commit, and this checkout has changes that no commit has');
  const wanted = `${isAsItIs ? 'HEAD' : revision}^{commit}`;
  const commit = await git(repository, 'rev-parse', '--verify', '--short', wanted).catch((cause) => {
    throw new WorktreeError(`there is no commit ${revision}`, { cause });
  });
  // An earlier run may have left a worktree whose folder is gone.
  await git(repository, 'worktree', 'prune');
  const folder = openTemporaryFolder('tree');
  const root = join(folder.path, commit);
  const remove = async () => {
    folder.remove();
    await git(repository, 'worktree', 'prune');
  };
  await git(repository, 'worktree', 'add', '--detach', root, commit);
  try {
    if (patch !== undefined) await git(root, 'apply', patch);
    await linkPackages(repository, root);
  } catch (thrown) {
    await remove();
    throw thrown;
  }
  return {
    root,
    name: patch === undefined ? commit : `${commit} + ${basename(patch)}`,
    remove,
  };
}

async function git(folder: string, ...words: string[]): Promise<string> {
  try {
    return (await run('git', words, { cwd: folder })).stdout.trim();
  } catch (thrown) {
    const said = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim() : '';
    throw new WorktreeError(said || String(thrown), { cause: thrown });
  }
}

/** Links the packages that are installed here; links of our own packages point into the new tree, not into this one. */
async function linkPackages(repository: string, root: string): Promise<void> {
  await linkAll(join(repository, 'node_modules'), join(root, 'node_modules'));
  const own = join(root, 'node_modules', scope);
  await mkdir(own, { recursive: true });
  for (const name of await readdir(join(repository, 'node_modules', scope))) {
    const folder = relative(repository, await realpath(join(repository, 'node_modules', scope, name)));
    if (existsSync(join(root, folder))) await symlink(join(root, folder), join(own, name));
  }
  // Packages that have their own version of a dependency.
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
