import type { JsonObject } from '@sluice/canonical';
import type { ClientCodec } from '@sluice/formats';
import type { GenerationRun } from '../engine.ts';
import type { Question } from './question.ts';

/** Of one model. Servers behind one address that refuse each other's words would be remembered anew with each request. */
const mostRefusals = 32;

/** The words in which a server refused what can be said otherwise, by model: it is not said again. */
export class Refusals {
  private readonly codec: ClientCodec;
  private readonly byModel = new Map<string, readonly string[]>();

  constructor(codec: ClientCodec) {
    this.codec = codec;
  }

  /** A body without what the server refuses. */
  apply(body: JsonObject, question: Question, run: GenerationRun): JsonObject {
    return this.of(question, run).reduce((said, refusal) => this.rephrase(said, refusal, run) ?? said, body);
  }

  /** The question after the server refused this body for it in these words. Absent: it can't be said otherwise. */
  after(refusal: string, body: JsonObject, question: Question, run: GenerationRun): Question | undefined {
    if (!this.rephrase(body, refusal, run)) return undefined;
    return { ...question, refusals: [...this.of(question, run), refusal].slice(-mostRefusals) };
  }

  /** The server answered the question as it was asked at last. */
  learn({ refusals }: Question, { backendModel }: GenerationRun): void {
    if (refusals) this.byModel.set(backendModel, refusals);
  }

  private of({ refusals }: Question, { backendModel }: GenerationRun): readonly string[] {
    return refusals ?? this.byModel.get(backendModel) ?? [];
  }

  private rephrase(
    body: JsonObject,
    refusal: string,
    { clientFormat }: GenerationRun,
  ): JsonObject | undefined {
    const { format, servers } = this.codec;
    return servers.rephrase?.(body, refusal, clientFormat !== undefined && clientFormat !== format);
  }
}
