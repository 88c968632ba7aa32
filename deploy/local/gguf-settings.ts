import { basename, resolve } from 'node:path';
import { defaultCatalogSettings } from '@sluice/catalog';
import { besideSimulated } from './settings.ts';

/** The pool of the model file. */
export const ggufPool = 'embedded';

/** Settings by which the workers evaluate a model file themselves, under a name made from the file's. */
export function createGgufSettings(path: string): object {
  return besideSimulated(ggufPool, { engine: 'llama-cpp', modelPath: resolve(path) }, [{ id: nameOf(path) }]);
}

/**
 * The model's name: the file's, without characters that a model's name may not hold, and never the simulated model's.
 */
function nameOf(path: string): string {
  const name = basename(path).replace(/\.gguf$/i, '') || 'model';
  const visible = name.replace(/[\s\p{C}*]/gu, '-');
  return Object.hasOwn(defaultCatalogSettings.models, visible) ? `${visible}-gguf` : visible;
}
