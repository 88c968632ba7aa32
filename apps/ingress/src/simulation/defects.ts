import type { GenerationEvent } from '@sluice/canonical';
import { WorkerDirectory } from '@sluice/transport';
import type { AttemptEffects, AttemptFacts } from '../dispatch/attempt-effects.ts';
import { AttemptMachine } from '../dispatch/attempt-machine.ts';
import type { GenerationServices } from '../dispatch/generation.ts';

/** Makes the attempt machine of a generation. */
export type CreateMachine = NonNullable<GenerationServices['createMachine']>;

/**
 * Machines with one safeguard removed. The simulation has to find each defect; one that it misses is not covered by it.
 */
export const defects: Readonly<Record<string, CreateMachine>> = {
  'no fence between attempts': (effects, facts) => new Unfenced(effects, facts),
  'no check of the sequence': (effects, facts) => new Unnumbered(effects, facts),
  'no resend': (effects, facts) =>
    new AttemptMachine(
      {
        ...asObject(effects),
        order: (worker, order) => order.kind !== 'resend' && effects.order(worker, order),
      },
      facts,
    ),
  'frames accepted after the end': (effects, facts) => new Endless(effects, facts),
  'a lost worker is not replaced': (effects, facts) => new Faithful(effects, facts),
  'a new attempt does not know what was delivered': (effects, facts) =>
    new AttemptMachine(
      {
        ...asObject(effects),
        enqueue: (attempt, _resume, reason) => effects.enqueue(attempt, undefined, reason),
      },
      facts,
    ),
};

/** The effects as a plain object, so that a copy can replace one of them. */
function asObject(effects: AttemptEffects): AttemptEffects {
  return {
    enqueue: (attempt, resume, reason) => effects.enqueue(attempt, resume, reason),
    withdraw: (attempt) => effects.withdraw(attempt),
    order: (worker, order) => effects.order(worker, order),
    deliver: (events) => effects.deliver(events),
    askedAgain: (reason) => effects.askedAgain(reason),
    dropped: (reason) => effects.dropped(reason),
    workerDone: (usage) => effects.workerDone(usage),
  };
}

class Unfenced extends AttemptMachine {
  override frame(worker: string, _attempt: number, sequence: number, events: GenerationEvent[]): void {
    super.frame(this.worker ?? worker, this.attempt, sequence, events);
  }
}

class Unnumbered extends AttemptMachine {
  private counted = 0;
  private countedAttempt = 1;

  override frame(worker: string, attempt: number, _sequence: number, events: GenerationEvent[]): void {
    if (this.countedAttempt !== this.attempt) this.counted = 0;
    this.countedAttempt = this.attempt;
    super.frame(worker, attempt, this.counted, events);
    this.counted += 1;
  }
}

class Endless extends AttemptMachine {
  private readonly side: AttemptEffects;

  constructor(effects: AttemptEffects, facts: AttemptFacts) {
    super(effects, facts);
    this.side = effects;
  }

  override get phase(): 'queued' | 'running' | 'closed' {
    return super.phase === 'closed' ? 'running' : super.phase;
  }

  override frame(worker: string, attempt: number, sequence: number, events: GenerationEvent[]): void {
    if (super.phase === 'closed') this.side.deliver(events);
    else super.frame(worker, attempt, sequence, events);
  }
}

class Faithful extends AttemptMachine {
  override workerLost(): void {
    // The defect is that nothing happens.
  }
}

/** A directory without signs of life, so that a job counts as lost as soon as two looks have missed it. */
export class HastyDirectory extends WorkerDirectory {
  override beatsOf(): ReadonlyMap<string, number> {
    return new Map();
  }
}
