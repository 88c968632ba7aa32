import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The full path of a program; undefined if it is not on PATH. */
export function findProgram(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  for (const folder of (environment.PATH ?? '').split(delimiter)) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The program is not in this folder.
    }
  }
  return undefined;
}

/** Whether packages can be installed here without asking: on Debian or a derivative, as root. */
export function canInstallPackages(environment: NodeJS.ProcessEnv): boolean {
  const isRoot = process.getuid?.() === 0;
  return isRoot && existsSync('/etc/debian_version') && findProgram('apt-get', environment) !== undefined;
}

/** Installs redis-server; false if the package sources do not have it or do not answer. */
export async function installRedisPackage(environment: NodeJS.ProcessEnv): Promise<boolean> {
  if (!(await runAptGet(['update'], environment))) return false;
  return runAptGet(['install', '-y', '--no-install-recommends', 'redis-server'], environment);
}

async function runAptGet(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<boolean> {
  const child = spawn('apt-get', [...words, '-qq'], {
    // Its output goes to stderr: a program may read our stdout.
    stdio: ['ignore', 2, 2],
    env: { ...environment, DEBIAN_FRONTEND: 'noninteractive' },
  });
  const [code] = await once(child, 'exit');
  return code === 0;
}
