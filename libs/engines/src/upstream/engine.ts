import {
  errorInfoOf,
  type GenerationEvent,
  type InferenceRequest,
  type JsonObject,
  SluiceError,
} from '@sluice/canonical';
import { type ClientCodec, findClientCodec } from '@sluice/formats';
import { beginRequest, completeRequest, Pool, type WireRequest } from '@sluice/http';
import { Client } from 'undici';
import type { Engine, EngineServices, GenerationRun, ResumeAbility } from '../engine.ts';
import { lost } from '../lost.ts';
import { MediaFetcher } from '../media/fetch-media.ts';
import { findReferences, inlineMedia, type Reference } from '../media/inline-media.ts';
import { type Address, parseAddress } from './address.ts';
import { type CallPlan, type CallServices, lingerMs, UpstreamCall } from './call.ts';
import { type Continuation, continueAnswer } from './continuation.ts';
import type { UpstreamOptions } from './options.ts';
import { defaultMaxOutputTokens, isRoomRefusal, limitOutput, withoutLimit } from './output-limit.ts';
import { Probe } from './probe.ts';
import { Rests } from './rests.ts';
import { TimeLimits } from './time-limits.ts';

/** Connections beside the slots, for answers that are whole but not closed yet. */
const spareConnections = 4;
/** Where the servers of each dialect list their models. */
const modelLists: Readonly<Record<string, string>> = {
  openai: 'models',
  anthropic: 'v1/models',
  gemini: 'v1beta/models',
};

type Plan = Omit<CallPlan, 'onEnd'>;

/** Any model server whose dialect has a codec. */
export class UpstreamEngine implements Engine {
  readonly slots: number;
  readonly resume: ResumeAbility;
  private readonly options: UpstreamOptions;
  private readonly codec: ClientCodec;
  private readonly services: EngineServices;
  private readonly address: Address;
  private readonly pool: Pool;
  private readonly callServices: CallServices;
  /** A connection of its own for questions, which must not wait for answers. */
  private readonly probeClient: Client;
  private readonly probe: Probe;
  private readonly media: MediaFetcher;
  private sent: { path: string; headers: Record<string, string>; head: string } | undefined;

  constructor(options: UpstreamOptions, codec: ClientCodec, services: EngineServices) {
    this.slots = options.slots;
    this.resume = options.resume;
    this.options = options;
    this.codec = codec;
    this.services = services;
    this.address = parseAddress(options.baseUrl);
    const now = () => performance.now();
    // One connection per answer: aborting an answer closes a socket, which every server understands.
    this.pool = new Pool({
      origin: this.address.server,
      maxConnections: options.slots + spareConnections,
      connectTimeoutMs: options.connectTimeoutMs,
      now,
    });
    this.probeClient = new Client(this.address.origin, {
      allowH2: false,
      connect: { timeout: options.connectTimeoutMs },
    });
    this.probe = new Probe(this.probeClient, {
      origin: this.address.origin,
      path: this.address.pathTo(options.probePath ?? modelLists[options.dialect] ?? ''),
      headers: this.headers({}),
      timeoutMs: options.connectTimeoutMs,
      intervalMs: options.probeIntervalMs,
      now: services.now,
      onChange: (isThere, why) => services.onReadiness(isThere, why),
    });
    const { credential, firstEventTimeoutMs, idleTimeoutMs } = options;
    this.callServices = {
      pool: this.pool,
      limits: new TimeLimits(Math.min(firstEventTimeoutMs, idleTimeoutMs, lingerMs), now),
      rests: new Rests(),
      now,
      codec,
      ...{ credential, firstEventTimeoutMs, idleTimeoutMs },
      onContact: (isThere, why) => this.probe.note(isThere, why),
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

  /** False for a lost answer that can't go on or lacks its end alone: neither is worth a fetch. */
  private needsServer(request: InferenceRequest, run: GenerationRun): boolean {
    try {
      return !this.continuationOf(this.limited(request, run), run)?.missing;
    } catch {
      return false;
    }
  }

  private async fetchAndAsk(
    request: InferenceRequest,
    references: readonly Reference[],
    run: GenerationRun,
  ): Promise<void> {
    let whole: InferenceRequest;
    try {
      whole = await inlineMedia(request, references, this.media, this.options.media, run.signal);
    } catch (thrown) {
      if (!run.signal.aborted) run.emit({ type: 'error', error: errorInfoOf(thrown) });
      return;
    }
    if (!run.signal.aborted) await this.ask(whole, run);
  }

  private ask(request: InferenceRequest, run: GenerationRun): Promise<void> {
    const context = { id: run.id, createdAt: this.services.now(), model: request.model };
    let continuation: Continuation | undefined;
    let wanted: InferenceRequest;
    let wire: WireRequest;
    try {
      const limited = this.limited(request, run);
      continuation = this.continuationOf(limited, run);
      if (continuation?.missing) {
        run.emit({ type: 'start', ...context });
        run.emit(continuation.missing);
        return Promise.resolve();
      }
      wanted = continuation?.request ?? limited;
      wire = this.encode(wanted, run, continuation?.flags);
    } catch (thrown) {
      run.emit({ type: 'error', error: errorInfoOf(thrown) });
      return Promise.resolve();
    }
    const emit = continuation ? translated(continuation, run) : run.emit;
    const plan: Plan = { context, signal: run.signal, emit };
    const unlimited = withoutLimit(wanted, this.options.dialect);
    if (!unlimited) return this.send(wire, plan);
    return this.sendUpToTwice(wire, () => this.encode(unlimited, run, continuation?.flags), plan);
  }

  private send(wire: WireRequest, plan: Plan): Promise<void> {
    return new Promise((onEnd) => {
      new UpstreamCall(this.callServices, wire, { ...plan, onEnd }).open();
    });
  }

  /** Our count of a prompt is an estimate: a server that finds no room beside it for the limit is asked again without. */
  private async sendUpToTwice(wire: WireRequest, unlimited: () => WireRequest, plan: Plan): Promise<void> {
    let hasBegun = false;
    let isRefused = false;
    const emit = (event: GenerationEvent) => {
      isRefused = !hasBegun && isRoomRefusal(event);
      hasBegun = true;
      if (!isRefused) plan.emit(event);
    };
    await this.send(wire, { ...plan, emit });
    if (isRefused && !plan.signal.aborted) await this.send(unlimited(), plan);
  }

  private limited(request: InferenceRequest, run: GenerationRun): InferenceRequest {
    return limitOutput(request, run, this.options.dialect);
  }

  private continuationOf(request: InferenceRequest, { resume }: GenerationRun): Continuation | undefined {
    if (!resume || resume.content.length === 0) return undefined;
    if (this.resume !== 'prefix') throw lost();
    return continueAnswer(request, resume, this.options.dialect);
  }

  private encode(request: InferenceRequest, run: GenerationRun, flags?: JsonObject): WireRequest {
    const encoded = this.codec.encodeRequest(request, {
      model: run.backendModel,
      stream: true,
      ...(run.clientFormat !== undefined && { clientFormat: run.clientFormat }),
      maxOutputTokens: defaultMaxOutputTokens,
    });
    for (const from of encoded.dropped) this.services.onExtensionsDropped(from, this.codec.format);
    const body = JSON.stringify(flags ? { ...encoded.body, ...flags } : encoded.body);
    return completeRequest(this.head(encoded.path, encoded.headers), body);
  }

  /** Most requests differ in their body alone: the head of the last one is kept. */
  private head(path: string, headers: Record<string, string>): string {
    if (this.sent?.path !== path || this.sent.headers !== headers) {
      const facts = {
        path: this.address.pathTo(path),
        authority: this.address.server.authority,
        headers: this.headers(headers),
      };
      this.sent = { path, headers, head: beginRequest(facts) };
    }
    return this.sent.head;
  }

  private headers(encoded: Record<string, string>): Record<string, string> {
    const ours = {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
    };
    const all = {
      ...ours,
      ...encoded,
      ...this.codec.authorize(this.options.credential),
      ...this.options.headers,
    };
    // By lower-case name, so that a configured header replaces ours instead of standing beside it.
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]));
  }
}

/** The engine for checked options. Throws `internal` for a dialect without a codec, which the options exclude. */
export function createUpstreamEngine(options: UpstreamOptions, services: EngineServices): UpstreamEngine {
  const codec = findClientCodec(options.dialect);
  if (!codec) throw new SluiceError('internal', `there is no codec for the dialect ${options.dialect}`);
  return new UpstreamEngine(options, codec, services);
}

/** Takes the events of a continuation as the whole answer would have had them. */
function translated(continuation: Continuation, run: GenerationRun): (event: GenerationEvent) => void {
  return (event) => run.emit(continuation.translate(event));
}
