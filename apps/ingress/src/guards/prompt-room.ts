import { SluiceError } from '@sluice/canonical';
import type { Exchange } from '../exchange.ts';
import { SharedRoom } from './shared-room.ts';

/** The `refusedBy` of requests that are refused because this process has no memory for another prompt. */
export const promptRefusal = 'prompts';
/** The share of the heap that prompts may take; the rest is for what is made of them on their way, and for all else. */
const heapShare = 0.4;

/**
 * Memory for the prompts of requests in flight. A prompt is kept to the end of its request, because another attempt may
 * need it. Without a limit, 42 streams with prompts of 2 MB ended a process of 128 MB.
 */
export class PromptRoom {
  private readonly room: SharedRoom;
  private readonly longest: number;

  constructor(heapBytes: number) {
    const bytes = heapShare * heapBytes;
    this.room = new SharedRoom(bytes);
    this.longest = bytes / 2;
  }

  /**
   * Reserves the memory for what a request's body holds, until `give`. Throws if there is none for it now, or never will
   * be.
   */
  take(exchange: Exchange, tenant: string, bytes: number): void {
    if (bytes > this.longest)
      throw new SluiceError('too-large', 'the request is larger than the memory of this gateway allows');
    if (!this.room.take(tenant, bytes)) {
      throw new SluiceError('saturated', 'this gateway has as many prompts as it can keep', {
        refusedBy: promptRefusal,
        retryAfterMs: 1_000,
      });
    }
    exchange.prompt = { tenant, bytes };
  }

  /** Gives back what the request has reserved, if anything. */
  give({ prompt }: Exchange): void {
    if (prompt) this.room.give(prompt.tenant, prompt.bytes);
  }
}
