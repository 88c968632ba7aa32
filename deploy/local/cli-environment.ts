import { rmSync } from 'node:fs';
import type { State } from './state.ts';

export interface CliEnvironmentOptions {
  /** The URL of Redis, and whether the user gave it. */
  redis: { url: string; isGiven: boolean };
  /** Absent: the one in the state folder. */
  givenKeySecret?: string | undefined;
  /** Of `npm start`. The terminal in which somebody pastes may have the same. */
  environment: NodeJS.ProcessEnv;
  state: Pick<State, 'write' | 'keySecretFile'>;
  /** By port, so that two installations do not read each other's files. */
  port: number;
}

/** The environment that `npx sluice` needs to reach the installation. */
export interface CliEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Deletes the files that were written for it. */
  remove(): void;
}

/** Writes what the user gave, which may be secret, to files of its owner alone, so that it can be used unseen. */
export function createCliEnvironment(options: CliEnvironmentOptions): CliEnvironment {
  const { redis, givenKeySecret, environment, state, port } = options;
  const files: string[] = [];
  const inFile = (name: string, file: string, text: string): Record<string, string> => {
    const path = state.write(`${file}-${port}`, `${text}\n`);
    files.push(path);
    // A program that gets a value and its file complains; an empty value counts as none.
    return { ...(environment[name]?.trim() && { [name]: '' }), [`${name}_FILE`]: path };
  };
  const variables = {
    ...(redis.isGiven ? inFile('SLUICE_REDIS_URL', 'redis-url', redis.url) : { SLUICE_REDIS_URL: redis.url }),
    ...(givenKeySecret === undefined
      ? { SLUICE_KEY_SECRET_FILE: state.keySecretFile }
      : inFile('SLUICE_KEY_SECRET', 'key-secret', givenKeySecret)),
  };
  return {
    variables,
    remove: () => {
      for (const path of files) rmSync(path, { force: true });
    },
  };
}
