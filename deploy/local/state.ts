import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SluiceError } from '@sluice/canonical';

/** What is kept between two starts, readable by its owner only. */
export interface State {
  readonly folder: string;
  /** The secret with which keys are hashed. Made at the first start. */
  readonly keySecret: string;
  /** Where it is kept. */
  readonly keySecretFile: string;
  /** Writes a file that only its owner may read and returns its path. */
  write(name: string, text: string): string;
}

/** Opens the state folder and makes what is missing in it. */
export function openState(folder: string): State {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    // The mode of the write holds for new files only.
    chmodSync(path, 0o600);
    return path;
  };
  const keySecretFile = join(folder, 'key-secret');
  return { folder, write, keySecret: readSecret(keySecretFile), keySecretFile };
}

function readSecret(path: string): string {
  try {
    // `wx`: if two starts run at once, the first writes and the other reads.
    writeFileSync(path, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 });
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown;
  }
  const secret = readFileSync(path, 'utf8').trim();
  // A full disk leaves an empty file. Without this check, the empty text would pass for the user's secret.
  if (secret === '')
    throw new SluiceError('unavailable', `${path} is empty; delete it, and the next start makes a new one`);
  return secret;
}
