import { checkSettings, type Problem } from '@sluice/runtime';
import type { z } from 'zod';
import type { Engine, EngineKind, EngineServices } from './engine.ts';

/** A backend with a valid configuration. Nothing of it is loaded or opened yet. */
export interface Backend {
  /** Loads the engine's module and creates an engine, which still has to be started. */
  createEngine(services: EngineServices): Promise<Engine>;
}

/** `backend` is absent if there are problems. */
export interface ParsedBackend {
  backend?: Backend;
  problems: Problem[];
}

/** An engine kind that hides the type of its options. */
export interface BackendKind {
  readonly kind: string;
  /** For documentation: the schema of the backend's fields beside `engine`. */
  readonly options: z.ZodType;
  readonly notes: URL | undefined;
  parse(options: unknown, path: string): ParsedBackend;
}

/** Ties a kind's options to its factory, so that kinds with different options fit into one list. */
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
