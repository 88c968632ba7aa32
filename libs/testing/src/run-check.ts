import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a program that checked its settings has said. */
export interface CheckOutcome {
  code: number | null;
  output: string;
  errors: string;
}

const repository = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Runs `main`, given by its path from the root, with `--check`, a file of these settings, and an environment whose Redis
 * is not there.
 */
export async function runCheck(
  main: string,
  settings: unknown,
  environment: Readonly<Record<string, string>> = {},
): Promise<CheckOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
  const file = join(folder, 'settings.json');
  await writeFile(file, JSON.stringify(settings));
  const { PATH } = process.env;
  const env = { PATH, SLUICE_CONFIG: file, SLUICE_REDIS_URL: 'redis://127.0.0.1:1', ...environment };
  const outcome = await new Promise<CheckOutcome>((resolve) => {
    const child = execFile(
      process.execPath,
      [join(repository, main), '--check'],
      { env },
      (_, output, errors) => resolve({ code: child.exitCode, output, errors }),
    );
  });
  await rm(folder, { recursive: true });
  return outcome;
}
