import { Turns } from '@sluice/runtime';
import type { EngineServices } from './engine.ts';

/** Surroundings for an engine under test: the real clock, and nobody who counts. */
export const quietServices: EngineServices = {
  now: Date.now,
  onExtensionsDropped: () => undefined,
  fileRoom: new Turns(Number.POSITIVE_INFINITY),
  onMediaFetched: () => undefined,
  onReadiness: () => undefined,
};
