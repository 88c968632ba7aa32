import { isDeepStrictEqual } from 'node:util';
import { bareCallId } from '../../calls/call-luggage.ts';
import type { WirePart } from '../wire.ts';
import type { CallLedger } from './calls.ts';

/**
 * Tells what a user's turn says a second time. Gemini CLI writes the results of a step twice, and what follows them,
 * when it resumes a session; servers refuse more results than there are calls.
 */
export class RepeatedResults {
  private readonly parts: readonly WirePart[];
  private readonly calls: CallLedger;
  /** Where the first result with an id stands. */
  private readonly places = new Map<string, number>();
  /** The part that the next one repeats if the repetition goes on; absent outside of one. */
  private next: number | undefined;

  constructor(parts: readonly WirePart[], calls: CallLedger) {
    this.parts = parts;
    this.calls = calls;
  }

  /** Whether this part was said before. To be asked of each part in turn, before its result is decoded. */
  has(index: number): boolean {
    const id = this.parts[index]?.functionResponse?.id;
    const first = id === undefined ? this.next : this.firstOf(id, index);
    const isRepeated = first !== undefined && isDeepStrictEqual(this.parts[first], this.parts[index]);
    this.next = isRepeated ? first + 1 : undefined;
    return isRepeated;
  }

  /** The first result of a call that waits for no other. */
  private firstOf(id: string, index: number): number | undefined {
    const place = this.places.get(id);
    if (place === undefined) this.places.set(id, index);
    return this.calls.isAnswered(bareCallId(id)) ? place : undefined;
  }
}
