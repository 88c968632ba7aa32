import type { FinishEvent } from './event.ts';
import type { Extensible } from './extensions.ts';
import type { Json } from './json.ts';
import type { AssistantPart } from './request.ts';

/** A whole answer: the sum of a stream of events. */
export interface Generation extends Extensible {
  id: string;
  model: string;
  /** Epoch milliseconds. */
  createdAt: number;
  content: AssistantPart[];
  /** All log probabilities in order; absent when none were reported. */
  logprobs?: Json[];
  finish: FinishEvent;
}
