import {
  errorInfoOf,
  type GenerationEvent,
  type InferenceRequest,
  nothingSpent,
  SluiceError,
} from '@sluice/canonical';
import type { Availability, Engine, EngineServices, GenerationRun } from '../engine.ts';
import type { LlamaLibrary } from './library.ts';
import { type LoadedModel, loadModel } from './model.ts';
import type { LlamaCppOptions } from './options.ts';
import { type Plan, planGeneration } from './plan.ts';
import { Slots } from './slots.ts';
import { speak } from './speak.ts';

/** A model in this process. It is evaluated on its own threads, so the event loop handles only tokens. */
export class LlamaCppEngine implements Engine {
  readonly slots: number;
  readonly resume = 'prefix';
  private readonly options: LlamaCppOptions;
  private readonly services: EngineServices;
  private readonly loadLibrary: () => Promise<LlamaLibrary>;
  /** The generations that are running now. */
  private readonly endings = new Set<AbortController>();
  /** What is still being evaluated, including for callers that have left. */
  private readonly evaluations = new Set<Promise<void>>();
  private loaded: Loaded | undefined;

  constructor(options: LlamaCppOptions, services: EngineServices, loadLibrary: () => Promise<LlamaLibrary>) {
    this.slots = options.slots;
    this.options = options;
    this.services = services;
    this.loadLibrary = loadLibrary;
  }

  async start(signal: AbortSignal): Promise<void> {
    const model = await loadModel(this.loadLibrary, this.options, signal);
    this.loaded = { model, places: new Slots(model.sequences) };
  }

  isReady(): boolean {
    return this.loaded !== undefined;
  }

  availability(): Availability {
    return 'here';
  }

  async generate(request: InferenceRequest, run: GenerationRun): Promise<void> {
    if (run.signal.aborted) return;
    // A controller of its own: a combined signal would live as long as its longest source, which is the engine.
    const ending = new AbortController();
    const end = () => ending.abort();
    run.signal.addEventListener('abort', end, { once: true });
    this.endings.add(ending);
    let hasBegun = false;
    try {
      if (!this.loaded) throw stopped();
      const plan = await planGeneration(request, run, this.loaded.model, this.options.sampling);
      for (const from of plan.dropped) this.services.onExtensionsDropped(from, 'llama-cpp');
      hasBegun = true;
      await this.evaluate(plan, request, run, this.loaded, ending.signal);
    } catch (thrown) {
      if (run.signal.aborted) return;
      const wasStopped = ending.signal.aborted;
      if (!(thrown instanceof SluiceError || wasStopped)) throw thrown;
      const error = errorInfoOf(wasStopped ? stopped() : thrown);
      run.emit({ type: 'error', error, ...(!hasBegun && { usage: nothingSpent }) });
    } finally {
      run.signal.removeEventListener('abort', end);
      this.endings.delete(ending);
    }
  }

  async stop(): Promise<void> {
    const { loaded } = this;
    this.loaded = undefined;
    for (const ending of this.endings) ending.abort();
    await Promise.all(this.evaluations);
    await loaded?.model.dispose();
  }

  /**
   * Rejects as soon as `ended` aborts. The slot is given back later, when the library lets go of it: a long prompt is
   * evaluated to the end of its batch.
   */
  private async evaluate(
    plan: Plan,
    request: InferenceRequest,
    run: GenerationRun,
    { model, places }: Loaded,
    ended: AbortSignal,
  ): Promise<void> {
    const sequence = await places.take(plan.context, ended);
    if (!sequence) throw ended.reason;
    const emit = (event: GenerationEvent) => {
      if (!ended.aborted) run.emit(event);
    };
    const { inputTokens } = plan;
    emit({ type: 'start', id: run.id, model: request.model, createdAt: this.services.now(), inputTokens });
    const delivered = run.resume?.content ?? [];
    const speaking = speak(plan, { model, sequence, id: run.id, delivered, signal: ended, emit });
    const settled = speaking
      // A failed evaluation leaves nothing that could be continued.
      .catch(() => (ended.aborted ? undefined : sequence.clearHistory()))
      .finally(() => {
        places.give(sequence);
        this.evaluations.delete(settled);
      });
    this.evaluations.add(settled);
    await Promise.race([speaking, rejection(ended)]);
  }
}

interface Loaded {
  model: LoadedModel;
  places: Slots;
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function stopped(): SluiceError {
  return new SluiceError('unavailable', 'the embedded model was stopped');
}
