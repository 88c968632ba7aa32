import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const call = (program: string, ...line: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, program, 'main.ts'), ...line], { encoding: 'utf8' });

describe.each(['matrix', 'corpus', 'bench', 'mutation'])('the program %s', (program) => {
  it('answers a wrong flag with the mistake and the usage', () => {
    const { status, stdout, stderr } = call(program, '--nope');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^Unknown option '--nope'.*\nusage: npm run /);
  });

  it('prints its usage', () => {
    const { status, stdout } = call(program, '--help');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^usage: npm run /);
  });
});

it('the corpus needs an address to be sent to', () => {
  const { status, stderr } = call('corpus', '--url', 'gateway', '--key', 'sk-x');
  expect(status).toBe(2);
  expect(stderr).toMatch(/^--url takes an address/);
});
