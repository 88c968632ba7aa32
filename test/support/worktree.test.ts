import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openWorktree } from './worktree.ts';

test('a patch is refused for a checkout with changes, which the patched one would not have', async () => {
  const repository = mkdtempSync(join(tmpdir(), 'sluice-worktree-'));
  onTestFinished(() => rmSync(repository, { recursive: true }));
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: repository });
  mkdirSync(join(repository, 'node_modules/@sluice'), { recursive: true });
  for (const group of ['apps', 'libs', 'deploy']) mkdirSync(join(repository, group));
  const [code, patch] = [join(repository, 'code'), join(repository, 'node_modules/patch')];
  writeFileSync(join(repository, '.gitignore'), 'node_modules\n');
  writeFileSync(code, 'one\n');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');
  writeFileSync(patch, '--- a/code\n+++ b/code\n@@ -1 +1 @@\n-one\n+two\n');
  const tree = await openWorktree(repository, '.', patch);
  expect(tree.name).toMatch(/^\w+ \+ patch$/);
  await tree.remove();
  writeFileSync(code, 'three\n');
  await expect(openWorktree(repository, '.', patch)).rejects.toThrow('changes that no commit has');
});
