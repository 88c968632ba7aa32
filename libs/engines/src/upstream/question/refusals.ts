import { type JsonObject, type ThinkingWish, thinkingWish } from '@sluice/canonical';
import { type ClientCodec, isForeign } from '@sluice/formats';
import type { GenerationRun } from '../../engine.ts';
import type { Question } from './question.ts';
import { withoutQuotations } from './quotations.ts';
import { withOwnStops } from './stop-strings.ts';

/**
 * Kept per model. The limit matters if servers behind one address refuse each other's wording: then every request adds
 * some.
 */
const mostRefusals = 32;

/** Remembers, by model, the refusals that can be avoided by rephrasing, so that a request is not refused twice. */
export class Refusals {
  private readonly codec: ClientCodec;
  /** Some models force no call, for example, while they think, but accept it otherwise. */
  private readonly known: Readonly<Record<ThinkingWish, Map<string, readonly string[]>>> = {
    asked: new Map(),
    declined: new Map(),
    unsaid: new Map(),
  };

  constructor(codec: ClientCodec) {
    this.codec = codec;
  }

  /** The question with its stop strings left to us if the server takes none. */
  fit(question: Question, run: GenerationRun): Question {
    const takesNone = this.of(question, run).some((refusal) => this.refusesStops(refusal));
    return takesNone ? withOwnStops(question) : question;
  }

  /** The body without what the server refuses. */
  apply(body: JsonObject, question: Question, run: GenerationRun): JsonObject {
    const { amended = [] } = question;
    const rephrased = this.of(question, run).reduce(
      (said, refusal) => this.rephrase(said, refusal, question, run) ?? said,
      body,
    );
    return amended.reduce((said, refusal) => this.amend(said, refusal) ?? said, rephrased);
  }

  /** The question after the server refused this body with these words. Absent: it cannot be rephrased. */
  after(refusal: string, body: JsonObject, question: Question, run: GenerationRun): Question | undefined {
    const { request } = question;
    const hasStops = request.sampling.stopSequences !== undefined;
    const canFit = (words: string) =>
      (hasStops && this.refusesStops(words)) || this.rephrase(body, words, question, run) !== undefined;
    if (!canFit(refusal)) {
      const { amended = [] } = question;
      const isAmended = this.amend(body, refusal) !== undefined;
      return isAmended ? { ...question, amended: [...amended, refusal] } : undefined;
    }
    const itsOwn = withoutQuotations(refusal, request);
    const words = canFit(itsOwn) ? itsOwn : refusal;
    const refusals = [...this.of(question, run), words].slice(-mostRefusals);
    return this.fit({ ...question, refusals }, run);
  }

  /**
   * Call when the server has answered the question in its last form. What the server said only by quoting the request
   * is not learned: a caller could have others' requests changed by it.
   */
  learn({ refusals, request }: Question, { backendModel }: GenerationRun): void {
    if (!refusals) return;
    const known = this.known[thinkingWish(request.reasoning)];
    const before = known.get(backendModel) ?? [];
    const isLearned = (words: string) =>
      before.includes(words) || withoutQuotations(words, request) === words;
    known.set(backendModel, refusals.filter(isLearned));
  }

  private of({ refusals, request }: Question, { backendModel }: GenerationRun): readonly string[] {
    return refusals ?? this.known[thinkingWish(request.reasoning)].get(backendModel) ?? [];
  }

  private refusesStops(refusal: string): boolean {
    return this.codec.servers.stopStrings.areRefused?.(refusal) ?? false;
  }

  private amend(body: JsonObject, refusal: string): JsonObject | undefined {
    return this.codec.servers.amend?.(body, refusal);
  }

  private rephrase(
    body: JsonObject,
    refusal: string,
    { flags }: Question,
    run: GenerationRun,
  ): JsonObject | undefined {
    const { format, servers } = this.codec;
    return servers.rephrase?.(body, refusal, isForeign(run, format), flags !== undefined);
  }
}
