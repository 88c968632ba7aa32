import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { repository } from '../support/repository.ts';

const patches = ['ablation', 'slow-downs'].flatMap((folder) =>
  readdirSync(new URL(`./${folder}/`, import.meta.url)).map((file) => `test/bench/${folder}/${file}`),
);

it.each(patches)('%s fits the code as it is', (patch) => {
  expect(() =>
    execFileSync('git', ['apply', '--check', patch], { cwd: repository, stdio: 'pipe' }),
  ).not.toThrow();
});
