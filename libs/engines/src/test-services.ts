import type { EngineServices } from './engine.ts';

/** Surroundings for an engine under test: the real clock, and nobody who counts. */
export const quietServices: EngineServices = {
  now: Date.now,
  onExtensionsDropped: () => undefined,
  onMediaFetched: () => undefined,
  onReadiness: () => undefined,
};
