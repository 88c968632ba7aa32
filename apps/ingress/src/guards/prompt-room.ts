import { SluiceError } from '@sluice/canonical';
import type { Exchange } from '../exchange.ts';
import { SharedRoom } from './shared-room.ts';

/** What refuses when this process has no memory for another prompt. */
export const promptRefusal = 'prompts';
/** The part of a process' heap that is for prompts; the rest is for what is made of them on their way, and for all else. */
const heapShare = 0.4;

/**
 * Memory for the prompts of requests that are under way. Each is kept to the end of its request, which may have to ask
 * again with it; 42 streams with prompts of 2 MB ended a process of 128 MB, and each other with it.
 */
export class PromptRoom {
  private readonly room: SharedRoom;
  private readonly longest: number;

  constructor(heapBytes: number) {
    const bytes = heapShare * heapBytes;
    this.room = new SharedRoom(bytes);
    this.longest = bytes / 2;
  }

  /** Takes what a request's body needs, until `give`. Throws where there is no room for it now, or never is. */
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

  /** Gives back what the request took, if it did. */
  give({ prompt }: Exchange): void {
    if (prompt) this.room.give(prompt.tenant, prompt.bytes);
  }
}
