import type { JsonObject } from '@sluice/canonical';
import { type ClientCodec, isForeign } from '@sluice/formats';
import type { GenerationRun } from '../engine.ts';
import type { Question } from './question.ts';

/**
 * Kept per model. The limit matters if servers behind one address refuse each other's wording: then every request adds
 * some.
 */
const mostRefusals = 32;

/** Remembers, by model, the refusals that can be avoided by rephrasing, so that a request is not refused twice. */
export class Refusals {
  private readonly codec: ClientCodec;
  private readonly byModel = new Map<string, readonly string[]>();

  constructor(codec: ClientCodec) {
    this.codec = codec;
  }

  /** The body without what the server refuses. */
  apply(body: JsonObject, question: Question, run: GenerationRun): JsonObject {
    return this.of(question, run).reduce((said, refusal) => this.rephrase(said, refusal, run) ?? said, body);
  }

  /** The question after the server refused this body with these words. Absent: it cannot be rephrased. */
  after(refusal: string, body: JsonObject, question: Question, run: GenerationRun): Question | undefined {
    if (!this.rephrase(body, refusal, run)) return undefined;
    return { ...question, refusals: [...this.of(question, run), refusal].slice(-mostRefusals) };
  }

  /** Call when the server has answered the question in its last form. */
  learn({ refusals }: Question, { backendModel }: GenerationRun): void {
    if (refusals) this.byModel.set(backendModel, refusals);
  }

  private of({ refusals }: Question, { backendModel }: GenerationRun): readonly string[] {
    return refusals ?? this.byModel.get(backendModel) ?? [];
  }

  private rephrase(body: JsonObject, refusal: string, run: GenerationRun): JsonObject | undefined {
    const { format, servers } = this.codec;
    return servers.rephrase?.(body, refusal, isForeign(run, format));
  }
}
