import { checkSettings, type Problem } from '@sluice/runtime';
import type { z } from 'zod';
import type { Engine, EngineKind, EngineServices } from './engine.ts';

/** A backend whose configuration is good; nothing of it is loaded or opened yet. */
export interface Backend {
  /** Loads the engine's module and makes one. It still has to be started. */
  createEngine(services: EngineServices): Promise<Engine>;
}

/** `backend` is absent when there are problems. */
export interface ParsedBackend {
  backend?: Backend;
  problems: Problem[];
}

/** An engine kind whose options nobody outside needs to know. */
export interface BackendKind {
  readonly kind: string;
  /** For documentation: the schema of the backend's part beside `engine`. */
  readonly options: z.ZodType;
  readonly notes: URL | undefined;
  parse(options: unknown, path: string): ParsedBackend;
}

/** Ties the options of a kind to its factory, so that kinds of different options fit into one list. */
export function defineBackendKind<Options extends { slots: number }>(kind: EngineKind<Options>): BackendKind {
  return {
    kind: kind.kind,
    options: kind.options,
    notes: kind.notes,
    parse(raw, path) {
      const { value: options, problems } = checkSettings(kind.options, raw, path);
      if (!options) return { problems };
      const createEngine = (services: EngineServices) => kind.create(options, services);
      return { backend: { createEngine }, problems };
    },
  };
}
