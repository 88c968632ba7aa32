import { hash } from 'node:crypto';
import {
  type ErrorEvent,
  type ErrorKind,
  errorInfoOf,
  estimateInputTokens,
  type GenerationEvent,
  type InferenceRequest,
  nothingSpent,
  type ResumeAbility,
  SluiceError,
} from '@sluice/canonical';
import { type ClientCodec, type EncodedRequest, findClientCodec } from '@sluice/formats';
import { attemptMs, Pool, type WireRequest } from '@sluice/http';
import { Client } from 'undici';
import type { Availability, Engine, EngineServices, GenerationRun } from '../engine.ts';
import { MediaFetcher } from '../media/fetch-media.ts';
import { findReferences, type Reference } from '../media/inline-media.ts';
import { type MediaMeans, withMedia } from '../media/media-room.ts';
import { withFailedCalls } from './answer/failed-call.ts';
import { Rests } from './answer/rests.ts';
import { cutAt } from './answer/stop-cut.ts';
import { type CallPlan, type CallServices, lingerMs, UpstreamCall } from './call.ts';
import type { UpstreamOptions } from './options.ts';
import { Probe } from './probe.ts';
import { defaultMaxOutputTokens, isRoomRefusal, withSmallerLimit } from './question/output-limit.ts';
import { planQuestion, type Question, translated } from './question/question.ts';
import { Refusals } from './question/refusals.ts';
import { withoutStrictness } from './question/strictness.ts';
import { parseAddress } from './request/address.ts';
import { RequestWriter } from './request/request-writer.ts';
import { secretsOf } from './secrets.ts';
import { TimeLimits } from './time-limits.ts';

/**
 * The most changes of a refused question: a smaller limit, no limit, no strictness, and nine others, which is what
 * Mistral's API refuses one by one in what a coding tool says.
 */
const secondQuestions = 12;
/**
 * Kinds of refusal after which a question is rephrased. A model's template refuses a conversation inside of its server,
 * and some servers report that as a failure of their own.
 */
const askedOtherwise: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'upstream-failed']);
/** Connections besides the slots, for answers that are complete but not closed yet. */
const spareConnections = 4;

type Plan = Omit<CallPlan, 'onEnd'>;

/** Any model server whose dialect has a codec. */
export class UpstreamEngine implements Engine {
  readonly slots: number;
  readonly mostFiles: number;
  readonly resume: ResumeAbility;
  private readonly options: UpstreamOptions;
  private readonly codec: ClientCodec;
  private readonly services: EngineServices;
  private readonly writer: RequestWriter;
  private readonly pool: Pool;
  private readonly callServices: CallServices;
  /** A separate connection for probes, which must not wait for answers. */
  private readonly probeClient: Client;
  private readonly probe: Probe;
  private readonly media: MediaFetcher;
  private readonly refusals: Refusals;

  constructor(options: UpstreamOptions, codec: ClientCodec, services: EngineServices) {
    this.slots = options.slots;
    this.mostFiles = options.slots + spareConnections;
    this.resume = options.resume;
    this.options = options;
    this.codec = codec;
    this.refusals = new Refusals(codec);
    this.services = services;
    const address = parseAddress(options.baseUrl);
    this.writer = new RequestWriter(options, codec, address);
    const now = () => performance.now();
    // One connection per answer: aborting an answer closes a socket, which every server understands.
    this.pool = new Pool({
      origin: address.server,
      maxConnections: this.mostFiles,
      connectTimeoutMs: options.connectTimeoutMs,
      now,
    });
    this.probeClient = new Client(address.origin, {
      allowH2: false,
      connect: {
        timeout: options.connectTimeoutMs,
        autoSelectFamilyAttemptTimeout: attemptMs(options.connectTimeoutMs),
      },
    });
    this.probe = new Probe(this.probeClient, {
      origin: address.origin,
      path: address.pathTo(options.probePath ?? codec.servers.modelList),
      headers: this.writer.headers(),
      // Twice as long, so that a failed connection can be told from a silent server.
      timeoutMs: 2 * options.connectTimeoutMs,
      intervalMs: options.probeIntervalMs,
      now,
      onChange: (isThere, why) => services.onReadiness(isThere, why),
    });
    const { firstEventTimeoutMs, idleTimeoutMs } = options;
    this.callServices = {
      pool: this.pool,
      limits: new TimeLimits(Math.min(firstEventTimeoutMs, idleTimeoutMs), now),
      lingering: new TimeLimits(lingerMs, now),
      rests: new Rests(),
      now,
      codec,
      secrets: secretsOf(options),
      firstEventTimeoutMs,
      idleTimeoutMs,
      onContact: (status, why) => this.probe.met(status, why),
    };
    this.media = new MediaFetcher(options.media, {
      now,
      onFetched: (outcome, durationMs) => services.onMediaFetched(outcome, durationMs),
    });
  }

  start(signal: AbortSignal): Promise<void> {
    return this.probe.awaitServer(this.options.startTimeoutMs, signal);
  }

  isReady(): boolean {
    return this.probe.isReady;
  }

  availability(): Availability {
    return this.probe.availability;
  }

  generate(request: InferenceRequest, run: GenerationRun): Promise<void> {
    if (run.signal.aborted) return Promise.resolve();
    const references = findReferences(request, this.options.media.fetch, (media) =>
      this.codec.judgeReference(media),
    );
    if (references.length === 0 || !this.needsServer(request, run)) return this.ask(request, run);
    return this.fetchAndAsk(request, references, run);
  }

  async stop(): Promise<void> {
    this.probe.stop();
    this.media.close();
    this.pool.close();
    await this.probeClient.destroy();
  }

  /** False for a lost answer that cannot be continued or that lacks only its end: neither is worth a fetch. */
  private needsServer(request: InferenceRequest, run: GenerationRun): boolean {
    try {
      return !planQuestion(request, run, this.options, this.codec.servers).missing;
    } catch {
      return false;
    }
  }

  private async fetchAndAsk(
    request: InferenceRequest,
    references: readonly Reference[],
    run: GenerationRun,
  ): Promise<void> {
    const { media, options, services } = this;
    const { tenant } = run;
    const fetcher: MediaMeans['fetcher'] = {
      fetch: (order) => media.fetch(tenant === undefined ? order : { ...order, tenant }),
    };
    const means = { fetcher, limits: options.media, room: services.fileRoom };
    try {
      await withMedia(request, references, means, run.signal, (whole) => this.ask(whole, run));
    } catch (thrown) {
      if (!run.signal.aborted) run.emit({ type: 'error', error: errorInfoOf(thrown), usage: nothingSpent });
    }
  }

  private ask(request: InferenceRequest, run: GenerationRun): Promise<void> {
    const start = { id: run.id, createdAt: this.services.now(), model: request.model };
    const context = request.parallelToolCalls === false ? { ...start, isSingleCall: true } : start;
    let question: Question;
    try {
      question = planQuestion(request, run, this.options, this.codec.servers);
    } catch (thrown) {
      run.emit({ type: 'error', error: errorInfoOf(thrown), usage: nothingSpent });
      return Promise.resolve();
    }
    if (question.missing) {
      run.emit({ type: 'start', ...start });
      run.emit(question.missing);
      return Promise.resolve();
    }
    const { signal, onFailure } = run;
    const emit = withFailedCalls(translated(question, run), run);
    return this.send(question, run, { context, signal, emit, ...(onFailure && { onFailure }) });
  }

  /** Asks, and rephrases the question as long as the server says what it does not accept. */
  private async send(question: Question, run: GenerationRun, plan: Plan): Promise<void> {
    let asked = this.refusals.fit(question, run);
    const refused: string[] = [];
    for (let left = secondQuestions; ; left -= 1) {
      let first: GenerationEvent | undefined;
      let refusal: ErrorEvent | undefined;
      const emit = (event: GenerationEvent) => {
        if (!first && event.type === 'error' && askedOtherwise.has(event.error.kind)) refusal = event;
        else plan.emit(event);
        first ??= event;
      };
      try {
        await this.call(asked, run, { ...plan, emit });
      } catch (thrown) {
        return plan.emit({ type: 'error', error: errorInfoOf(thrown), usage: nothingSpent });
      }
      // A question that was refused for another reason, perhaps in the client's own words, teaches nothing.
      if (first?.type === 'start') this.refusals.learn(asked, run);
      if (!refusal || plan.signal.aborted) return;
      const next = left > 0 ? this.askOtherwise(asked, run, refusal) : undefined;
      if (!next) return plan.emit(refusal);
      // Two refusals may demand the opposite of each other.
      refused.push(this.fingerprint(asked, run));
      if (refused.includes(this.fingerprint(next, run))) return plan.emit(refusal);
      asked = next;
    }
  }

  /** The same for what reaches the server as the same body. */
  private fingerprint(question: Question, run: GenerationRun): string {
    return hash('sha256', JSON.stringify(this.phrase(question, run).body));
  }

  /** A question that the server may accept after this refusal. Absent: there is none. */
  private askOtherwise(question: Question, run: GenerationRun, refusal: ErrorEvent): Question | undefined {
    const { message } = refusal.error;
    // Our count of a prompt is an estimate, so the limit may not fit beside the prompt.
    if (isRoomRefusal(refusal.error)) {
      const request = withSmallerLimit(question.request, message, this.codec.servers);
      return request && { ...question, request };
    }
    const loosened = withoutStrictness(question.request, run, this.codec.format, message);
    if (loosened) return { ...question, request: loosened };
    return this.refusals.after(message, this.phrase(question, run).body, question, run);
  }

  /** Throws for what the dialect cannot express. */
  private call(question: Question, run: GenerationRun, plan: Plan): Promise<void> {
    if (question.stops.length === 0) return this.open(question, run, plan);
    const inputTokens = () => estimateInputTokens(question.request);
    return cutAt(question.stops, inputTokens, plan, (cut) => this.open(question, run, { ...plan, ...cut }));
  }

  private open(question: Question, run: GenerationRun, plan: Plan): Promise<void> {
    const wire = this.encode(question, run);
    // Only the call holds what is sent, and releases it: it may contain images.
    return new Promise((onEnd) => new UpstreamCall(this.callServices, wire, { ...plan, onEnd }).open());
  }

  private encode(question: Question, run: GenerationRun): WireRequest {
    const encoded = this.phrase(question, run);
    for (const from of encoded.dropped) this.services.onExtensionsDropped(from, this.codec.format);
    return this.writer.write(encoded, run);
  }

  private phrase(question: Question, run: GenerationRun): EncodedRequest {
    const { request, flags } = question;
    const encoded = this.codec.encodeRequest(request, {
      model: run.backendModel,
      stream: true,
      ...(run.clientFormat !== undefined && { clientFormat: run.clientFormat }),
      maxOutputTokens: defaultMaxOutputTokens,
    });
    if (flags) Object.assign(encoded.body, flags);
    encoded.body = this.refusals.apply(encoded.body, question, run);
    return encoded;
  }
}

/** The engine for checked options. Throws `internal` for a dialect without a codec, which the options exclude. */
export function createUpstreamEngine(options: UpstreamOptions, services: EngineServices): UpstreamEngine {
  const codec = findClientCodec(options.dialect);
  if (!codec) throw new SluiceError('internal', `there is no codec for the dialect ${options.dialect}`);
  return new UpstreamEngine(options, codec, services);
}
