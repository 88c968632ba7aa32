import type { GenerationEvent, InferenceRequest, Resume } from '@sluice/canonical';
import type { z } from 'zod';

/**
 * The code that can generate. An engine knows nothing of jobs, tenants or the client's format.
 */
export interface Engine {
  /** Concurrent generations; becomes the worker's concurrency. */
  readonly slots: number;
  readonly resume: ResumeAbility;
  /** Resolves when the engine can generate. Rejects with a sentence an operator understands. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether it could generate now; asked by readiness checks, cheap, never throws. */
  isReady(): boolean;
  /**
   * Runs one generation: calls `emit` with a legal event order (canonical's grammar) and resolves after the
   * terminal event was emitted. Never rejects for a failed generation: that is an `error` event. After
   * `signal` aborts it stops within 500 ms, closes what it opened, emits nothing more and resolves.
   */
  generate(request: InferenceRequest, run: GenerationRun): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Whether a generation that was lost midway can go on: `exact` gives the very text that an undisturbed run
 * would have given; `prefix` lets the model continue the delivered text; `none` can't.
 */
export type ResumeAbility = 'exact' | 'prefix' | 'none';

export interface GenerationRun {
  /** Bare id for the start event. */
  id: string;
  /** The model's name at the backend. */
  backendModel: string;
  /** The limit of the model; used where the request has none and as the clamp where it asks for more. Absent: no limit known. */
  maxOutputTokens?: number;
  signal: AbortSignal;
  /**
   * What a lost attempt had delivered. The run emits `start` again (the receiver drops it), then goes on after
   * the last delivered character: block numbers continue, its last part may grow. Its finish reports the usage
   * of the whole answer.
   */
  resume?: Resume;
  /**
   * Takes events in order, at once and without waiting: per-token promises cost more than all the rest of the
   * worker (see the performance section of the README).
   */
  emit(event: GenerationEvent): void;
}

/** What the registry knows of an engine. The module behind `create` is loaded only where it is configured. */
export interface EngineKind<Options> {
  readonly kind: string;
  /** The backend's part of the configuration, beside `engine`. */
  readonly options: z.ZodType<Options>;
  create(options: Options, services: EngineServices): Promise<Engine>;
}

export interface EngineServices {
  now(): number;
  /** Counts extensions that could not be said in the upstream's dialect. */
  onExtensionsDropped(from: string, to: string): void;
}
