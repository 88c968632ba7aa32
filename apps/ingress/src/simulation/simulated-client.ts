import { type GenerationEvent, GrammarChecker, isTerminal } from '@sluice/canonical';
import type { AttemptMachine } from '../dispatch/attempt-machine.ts';
import type { Dispatched, GenerationPlan } from '../dispatch/generation.ts';
import type { SimulatedRequest } from './schedule.ts';
import type { Run } from './simulated-worker.ts';

/** The client of one request, which checks every event against the promises. */
export class SimulatedClient {
  readonly id: string;
  readonly request: SimulatedRequest;
  handle: Dispatched | undefined;
  /** Set when the dispatcher has created it. */
  machine: AttemptMachine | undefined;
  hasLeft = false;
  /** How it ended; absent while it is open. */
  outcome: 'complete' | 'error' | 'refused' | undefined;
  endedAt = 0;
  tokens = 0;
  private grammar = new GrammarChecker();
  private hasStarted = false;
  private readonly runOfAttempt = new Map<number, number>();
  private readonly runs: readonly Run[];
  private readonly now: () => number;

  constructor(id: string, request: SimulatedRequest, runs: readonly Run[], now: () => number) {
    this.id = id;
    this.request = request;
    this.runs = runs;
    this.now = now;
  }

  get isOver(): boolean {
    return this.hasLeft || this.outcome !== undefined;
  }

  /** Whether it sees tokens as they come, and has seen one. */
  get hasShown(): boolean {
    return this.request.isStream && this.tokens > 0;
  }

  /** What its request puts into the queue for each attempt. */
  jobFor(ingress: string): GenerationPlan['job'] {
    return {
      version: 1,
      requestId: this.id,
      replyTo: ingress,
      tenant: 'tenant',
      model: 'simulated',
      // Far after the end of the play, because nothing may need the deadline in order to end.
      deadlineAt: 3_600_000,
      request: { model: 'simulated', messages: [], sampling: {} },
    };
  }

  leave(): void {
    if (this.isOver) return;
    this.hasLeft = true;
    this.handle?.cancel();
  }

  /** The gateway has refused the request. */
  refuse(): void {
    if (this.outcome !== undefined) throw new Error(`${this.id}: refused after its end`);
    this.outcome = 'refused';
    this.endedAt = this.now();
  }

  /** Throws when a promise is broken. */
  receive(events: readonly GenerationEvent[]): void {
    if (this.hasLeft) throw new Error(`${this.id}: events for a client that has left`);
    for (const event of events) {
      if (event.type === 'start') this.start();
      const broken = this.grammar.check(event);
      if (broken !== undefined) throw new Error(`${this.id}: ${broken}`);
      if (event.type === 'text-delta') this.read(event.text);
      if (!isTerminal(event)) continue;
      this.outcome = event.type === 'finish' ? 'complete' : 'error';
      this.endedAt = this.now();
      if (event.type === 'error') continue;
      if (this.tokens !== this.request.tokens)
        throw new Error(`${this.id}: complete with ${this.tokens} tokens`);
      if (event.usage.outputTokens !== this.tokens)
        throw new Error(`${this.id}: usage is not what was delivered`);
    }
  }

  /** Begins the answer, or begins it anew, which is possible only for a client that has seen nothing. */
  private start(): void {
    if (this.hasStarted && !this.hasShown) {
      this.grammar = new GrammarChecker();
      this.tokens = 0;
    }
    this.hasStarted = true;
  }

  private read(text: string): void {
    for (const token of text.trimEnd().split(' ')) {
      const [position, number] = token.split(':').map(Number);
      if (position !== this.tokens)
        throw new Error(`${this.id}: token ${position} where ${this.tokens} was due`);
      this.tokens += 1;
      const run = this.runs[number ?? -1];
      if (run?.requestId !== this.id) throw new Error(`${this.id}: a token of another request`);
      const current = this.machine?.attempt;
      if (run.attempt !== current)
        throw new Error(`${this.id}: a token of attempt ${run.attempt} during ${current}`);
      const first = this.runOfAttempt.get(run.attempt) ?? run.number;
      this.runOfAttempt.set(run.attempt, first);
      if (first !== run.number) throw new Error(`${this.id}: tokens of two runs of one attempt`);
    }
  }
}
