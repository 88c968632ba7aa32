import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const run = (...flags: string[]) => spawnSync(process.execPath, [program, ...flags], { encoding: 'utf8' });

it('the simulation plays what its flags say', () => {
  const { status, stdout } = run('--count', '2', '--seed', '7');
  expect(stdout).toContain('playing 2 schedules from seed 7');
  expect(status).toBe(0);
});

it('it explains its flags, and refuses bad ones without a stack trace', () => {
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--count N') });
  for (const flags of [['--counts', '3'], ['--count', 'many'], ['--seed']]) {
    const { status, stderr } = run(...flags);
    expect(status).toBe(2);
    expect(stderr).toContain('--count N');
    expect(stderr).not.toContain('    at ');
  }
});
