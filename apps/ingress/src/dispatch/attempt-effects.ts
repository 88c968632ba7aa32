import type { GenerationEvent, Resume, ResumeAbility } from '@sluice/canonical';
import type { AttemptReason, DroppedFrameReason } from '@sluice/runtime';
import type { Order } from '@sluice/transport';

/** Everything the machine does to the world. It is called within an input, in order. */
export interface AttemptEffects {
  /** Puts an attempt into the queue; `resume` is what the client has already. */
  enqueue(attempt: number, resume: Resume | undefined, reason: AttemptReason): void;
  /** Takes a waiting attempt out of the queue; it may have been claimed meanwhile. */
  withdraw(attempt: number): void;
  order(worker: string, order: Omit<Order, 'requestId'>): void;
  /**
   * Hands events to the client's side: each once, in order, the terminal one last. A second start, which comes only where
   * the client sees nothing before the end, says that the answer begins anew.
   */
  deliver(events: GenerationEvent[]): void;
  /**
   * The worker has said all and is free, though the client's side, which is paused, has not heard it yet. May come
   * several times.
   */
  workerDone(): void;
  /** Counts a frame that was not delivered. */
  dropped(reason: DroppedFrameReason): void;
}

/** What the machine asks about the request and its surroundings. */
export interface AttemptFacts {
  /** How a generation that was lost midway can go on, as the living workers of the pool can do it now. */
  resumeAbility(): ResumeAbility;
  /** Whether the answer is plain text: no tools, no JSON output. Only that can be continued by prefix. */
  isPlainText: boolean;
  /** Whether the client sees what is said before its end: if not, it may be said anew. */
  readonly isStream: boolean;
  /** The format of a client that sees its own format's events as they pass by; absent where it sees nothing before the end. */
  readonly passing: string | undefined;
}
