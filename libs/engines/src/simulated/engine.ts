import {
  errorInfoOf,
  estimateInputTokens,
  type GenerationEvent,
  type InferenceRequest,
  nothingSpent,
  outputLimit,
  SluiceError,
} from '@sluice/canonical';
import { type Seat, TransientSet } from '@sluice/runtime';
import type { Availability, Engine, EngineServices, GenerationRun } from '../engine.ts';
import { compose } from './compose.ts';
import { DeliveredFilter } from './delivered.ts';
import type { SimulatedOptions } from './options.ts';
import { Player } from './player.ts';
import type { Script } from './script.ts';
import { Teller } from './teller.ts';
import { TimerWheel, type Timing } from './timing.ts';

/** A player that has not ended. */
interface Running {
  player: Player;
  seat?: Seat<Running> | undefined;
}

/** The model `sim`: what it says is known beforehand, and the prompt can order how it says it. */
export class SimulatedEngine implements Engine {
  readonly slots: number;
  readonly resume = 'exact';
  private readonly options: SimulatedOptions;
  private readonly services: EngineServices;
  private readonly timing: Timing;
  private readonly running = new TransientSet<Running>();
  private isRunning = false;

  constructor(options: SimulatedOptions, services: EngineServices, timing: Timing = new TimerWheel()) {
    this.slots = options.slots;
    this.options = options;
    this.services = services;
    this.timing = timing;
  }

  start(): Promise<void> {
    this.isRunning = true;
    return Promise.resolve();
  }

  isReady(): boolean {
    return this.isRunning;
  }

  availability(): Availability {
    return 'here';
  }

  generate(request: InferenceRequest, run: GenerationRun): Promise<void> {
    if (run.signal.aborted) return Promise.resolve();
    let script: Script;
    try {
      if (!this.isRunning) throw new SluiceError('unavailable', 'the simulated model is stopped');
      script = compose(request, this.options);
    } catch (thrown) {
      run.emit({ type: 'error', error: errorInfoOf(thrown), usage: nothingSpent });
      return Promise.resolve();
    }
    return new Promise((resolve) => this.perform(script, request, run, resolve));
  }

  /** Fails whatever still runs, so that no receiver waits for ever. */
  stop(): Promise<void> {
    this.isRunning = false;
    for (const { player } of this.running)
      player.stop(new SluiceError('unavailable', 'the simulated model was stopped'));
    return Promise.resolve();
  }

  private perform(script: Script, request: InferenceRequest, run: GenerationRun, resolve: () => void): void {
    const filter = run.resume && new DeliveredFilter(run.resume, !script.isStamped, run.emit);
    const emit = filter ? (event: GenerationEvent) => filter.push(event) : run.emit;
    const player = new Player({
      teller: this.createTeller(script, request, run, emit),
      ttftMs: script.ttftMs,
      gapMs: script.gapMs,
      burst: script.burst,
      timing: this.timing,
      isCaughtUp: () => filter?.isCaughtUp ?? true,
      onEnd: (thrown) => {
        run.signal.removeEventListener('abort', abort);
        this.running.delete(running);
        if (thrown !== undefined) run.emit({ type: 'error', error: errorInfoOf(thrown) });
        resolve();
      },
    });
    const running: Running = { player };
    const abort = () => player.stop();
    run.signal.addEventListener('abort', abort, { once: true });
    this.running.add(running);
    player.start();
  }

  private createTeller(
    script: Script,
    request: InferenceRequest,
    run: GenerationRun,
    emit: (event: GenerationEvent) => void,
  ): Teller {
    const inputTokens = estimateInputTokens(request);
    return new Teller(
      {
        script,
        start: {
          type: 'start',
          id: run.id,
          model: request.model,
          createdAt: this.services.now(),
          inputTokens,
        },
        inputTokens,
        maxOutputTokens: outputLimit(request, run, inputTokens),
        stopSequences: request.sampling.stopSequences,
        alternatives: request.logprobs?.alternatives,
        now: () => this.timing.now(),
      },
      emit,
    );
  }
}
