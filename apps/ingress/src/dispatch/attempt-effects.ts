import type { GenerationEvent, Resume, ResumeAbility, Usage } from '@sluice/canonical';
import type { AttemptReason, DroppedFrameReason, ResendReason } from '@sluice/runtime';
import type { Order } from '@sluice/transport';

/** Everything that the attempt machine does to the world. It makes these calls in order, while it handles an input. */
export interface AttemptEffects {
  /** Puts an attempt into the queue; `resume` is what the client already has. */
  enqueue(attempt: number, resume: Resume | undefined, reason: AttemptReason): void;
  /** Takes a waiting attempt out of the queue. A worker may have claimed it meanwhile. */
  withdraw(attempt: number): void;
  /** Sends an order to a worker. */
  order(worker: string, order: Omit<Order, 'requestId'>): void;
  /**
   * Delivers events towards the client: each once, in order, the terminal one last. A second start means that the
   * answer begins anew; it comes only if the client was shown nothing of it.
   */
  deliver(events: GenerationEvent[]): void;
  /**
   * The worker has finished and reports this usage, although delivery is paused and not everything has been delivered.
   * May come several times.
   */
  workerDone(usage: Usage): void;
  /** Counts an order to send frames again. */
  askedAgain(reason: ResendReason): void;
  /** Counts a frame that was not delivered. */
  dropped(reason: DroppedFrameReason): void;
}

/** What the attempt machine asks about the request and its surroundings. */
export interface AttemptFacts {
  /** How the living workers of the pool can resume a generation that was lost midway. */
  resumeAbility(): ResumeAbility;
  /** Whether the answer is plain text: no tools, no JSON output. Only that can be continued by prefix. */
  isPlainText: boolean;
  /** Whether the client has been shown anything of the answer. If not, another attempt may begin it anew. */
  hasShown(): boolean;
  /** The format of a client that sees events as they come; absent if it sees nothing before the end. */
  readonly readerFormat: string | undefined;
}
