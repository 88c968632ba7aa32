import type { Gone } from './frame.ts';
import type { AttemptFrames } from './reply-writer.ts';

/** What will be published to one ingress after this turn. */
export class Outbox {
  readonly ingress: string;
  /** Attempts whose claims are to be announced. */
  opened: AttemptFrames[] = [];
  /** Attempts with events that are not published yet. */
  dirty: AttemptFrames[] = [];
  /** Frames that the ingress asked for, by attempt. */
  asked = new Map<string, Gone>();
  isScheduled = false;
  /** The positions that Redis has not answered, in the order in which they were sent. */
  readonly unanswered = new Set<{ readonly sentAt: number }>();
  /** When a message first had no receiver; absent while the ingress listens. */
  missedAt: number | undefined;
  /** Whether the ingress showed no sign of life at the end of the last round of heartbeats, although somebody listens. */
  isDoubtful = false;

  constructor(ingress: string) {
    this.ingress = ingress;
  }

  /** Returns all that has gathered, and is empty again. */
  takeAll(): Pick<Outbox, 'opened' | 'dirty' | 'asked'> {
    const { opened, dirty, asked } = this;
    [this.opened, this.dirty, this.asked, this.isScheduled] = [[], [], new Map(), false];
    return { opened, dirty, asked };
  }
}

/** The outboxes of a worker, one for each ingress that it has lately had something for. */
export class Outboxes {
  private readonly byIngress = new Map<string, Outbox>();

  of(ingress: string): Outbox {
    let outbox = this.byIngress.get(ingress);
    if (!outbox) {
      outbox = new Outbox(ingress);
      this.byIngress.set(ingress, outbox);
    }
    return outbox;
  }

  delete(ingress: string): void {
    this.byIngress.delete(ingress);
  }

  entries(): Iterable<[ingress: string, outbox: Outbox]> {
    return this.byIngress;
  }
}
