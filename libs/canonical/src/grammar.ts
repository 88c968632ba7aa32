import { assertNever } from './assert.ts';
import type { GenerationEvent } from './event.ts';

type BlockKind = 'text' | 'reasoning' | 'tool-call' | 'closed-call' | 'opaque';

/**
 * Checks the order of a generation's events, one at a time:
 *
 *     start (text-delta | reasoning-delta | tool-call-start tool-call-delta* tool-call-end
 *            | block-annotation | opaque)* (finish | error)     or a bare error
 *
 * Blocks start at 0, rise by one and never go back. One block holds one kind of content. A call ends before the next
 * block or the finish. There is exactly one terminal event, and nothing after it.
 */
export class GrammarChecker {
  private started = false;
  private ended = false;
  private block = -1;
  private kind: BlockKind | undefined;

  /** Names the rule that this event breaks; absent means it is legal. */
  check(event: GenerationEvent): string | undefined {
    if (this.ended) return `${event.type} after the terminal event`;
    if (event.type === 'start') {
      if (this.started) return 'a second start';
      this.started = true;
      return undefined;
    }
    if (event.type === 'error') {
      this.ended = true;
      return undefined;
    }
    if (!this.started) return `${event.type} before start`;
    switch (event.type) {
      case 'text-delta':
        return this.enter(event.block, 'text');
      case 'reasoning-delta':
        return this.enter(event.block, 'reasoning');
      case 'tool-call-start':
        if (event.block === this.block) return `block ${event.block} already holds ${this.kind}`;
        return this.enter(event.block, 'tool-call');
      case 'tool-call-delta':
        return this.inCall(event.type, event.block);
      case 'tool-call-end': {
        const broken = this.inCall(event.type, event.block);
        if (broken === undefined) this.kind = 'closed-call';
        return broken;
      }
      case 'block-annotation':
        return event.block === this.block
          ? undefined
          : `block-annotation for block ${event.block}, open is ${this.block}`;
      case 'opaque':
        if (event.block === undefined) return undefined;
        if (event.block === this.block) return `block ${event.block} already holds ${this.kind}`;
        return this.enter(event.block, 'opaque');
      case 'finish':
        if (this.kind === 'tool-call') return 'finish while a tool call is open';
        this.ended = true;
        return undefined;
      default:
        return assertNever(event);
    }
  }

  /** Names what is missing when no further event comes; absent means the stream is complete. */
  end(): string | undefined {
    return this.ended ? undefined : 'no terminal event';
  }

  private enter(block: number, kind: BlockKind): string | undefined {
    if (block === this.block)
      return this.kind === kind ? undefined : `block ${block} holds ${this.kind}, not ${kind}`;
    if (block !== this.block + 1) return `block ${block} after block ${this.block}`;
    if (this.kind === 'tool-call') return `block ${block} opens while a tool call is open`;
    this.block = block;
    this.kind = kind;
    return undefined;
  }

  private inCall(type: string, block: number): string | undefined {
    return this.kind === 'tool-call' && block === this.block ? undefined : `${type} outside its call`;
  }
}

/** Names the first rule that a whole list of events breaks; absent means it is a legal, complete generation. */
export function findGrammarError(events: Iterable<GenerationEvent>): string | undefined {
  const checker = new GrammarChecker();
  let index = 0;
  for (const event of events) {
    const broken = checker.check(event);
    if (broken !== undefined) return `event ${index}: ${broken}`;
    index += 1;
  }
  return checker.end();
}
