import type { EngineKind } from '../engine.ts';
import { type LlamaCppOptions, llamaCppOptions } from './options.ts';

/** A model in the worker's own process, evaluated by llama.cpp. Needs a GGUF file and the package node-llama-cpp. */
export const llamaCpp: EngineKind<LlamaCppOptions> = {
  kind: 'llama-cpp',
  options: llamaCppOptions,
  notes: new URL('./notes.md', import.meta.url),
  async create(options, services) {
    const { LlamaCppEngine } = await import('./engine.ts');
    const { loadLibrary } = await import('./library.ts');
    return new LlamaCppEngine(options, services, loadLibrary);
  },
};
