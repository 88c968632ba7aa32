import { basename, resolve } from 'node:path';
import { besideSimulated } from './settings.ts';

/** Settings that serve a model file from within the workers, under the file's own name. */
export function createGgufSettings(path: string): object {
  const name = basename(path).replace(/\.gguf$/i, '');
  return besideSimulated('embedded', { engine: 'llama-cpp', modelPath: resolve(path) }, [name]);
}
