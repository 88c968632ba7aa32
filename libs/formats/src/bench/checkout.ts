import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A commit's tree beside this one. */
export interface Checkout {
  folder: string;
  close(): void;
}

/**
 * Checks a commit out into a folder of its own: its libraries, with this tree's packages, benchmark and golden cases,
 * so that both sides run the same tasks.
 */
export function checkOut(repository: string, commit: string): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const git = (...words: string[]) => execFileSync('git', ['-C', repository, ...words], { stdio: 'pipe' });
  git('worktree', 'add', '--detach', '--force', folder, commit);
  const close = () => {
    git('worktree', 'remove', '--force', folder);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    linkPackages(repository, folder);
    for (const part of ['libs/formats/src/bench', 'libs/formats/src/golden-case.ts', 'libs/formats/golden']) {
      rmSync(join(folder, part), { recursive: true, force: true });
      cpSync(join(repository, part), join(folder, part), { recursive: true });
    }
  } catch (error) {
    close();
    throw error;
  }
  return { folder, close };
}

function linkPackages(repository: string, folder: string): void {
  const modules = join(repository, 'node_modules');
  mkdirSync(join(folder, 'node_modules/@sluice'), { recursive: true });
  for (const name of readdirSync(modules)) {
    if (name !== '@sluice') symlinkSync(join(modules, name), join(folder, 'node_modules', name));
  }
  for (const library of readdirSync(join(folder, 'libs'))) {
    symlinkSync(join(folder, 'libs', library), join(folder, 'node_modules/@sluice', library));
  }
}
