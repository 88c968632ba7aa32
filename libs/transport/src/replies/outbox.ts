import type { Gone } from './frame.ts';
import type { AttemptFrames } from './reply-writer.ts';

/** What will be published to one ingress at the next lull. */
export interface Outbox {
  opened: AttemptFrames[];
  dirty: AttemptFrames[];
  asked: Map<string, Gone>;
  isScheduled: boolean;
  /** When a message first had no receiver; absent while the ingress listens. */
  missedAt: number | undefined;
}

/** An outbox in which nothing has gathered. */
export function createOutbox(): Outbox {
  return { opened: [], dirty: [], asked: new Map(), isScheduled: false, missedAt: undefined };
}

/** Whether a generation waits to begin, an ingress for what it has missed, or a client for what is pending. */
export function isAwaited({ opened, dirty, asked }: Outbox): boolean {
  return opened.length + asked.size > 0 || dirty.some((frames) => frames.isAwaited);
}
