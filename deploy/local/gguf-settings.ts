import { basename, resolve } from 'node:path';
import { defaultCatalogSettings } from '@sluice/catalog';
import { besideSimulated } from './settings.ts';

/** Settings that serve a model file from within the workers, under a name like the file's own. */
export function createGgufSettings(path: string): object {
  return besideSimulated('embedded', { engine: 'llama-cpp', modelPath: resolve(path) }, [
    { id: nameOf(path) },
  ]);
}

/** A file's name may hold what a model's may not, and may be that of the simulated model, which stays. */
function nameOf(path: string): string {
  const name = basename(path).replace(/\.gguf$/i, '') || 'model';
  const visible = name.replace(/[\s\p{C}*]/gu, '-');
  return Object.hasOwn(defaultCatalogSettings.models, visible) ? `${visible}-gguf` : visible;
}
