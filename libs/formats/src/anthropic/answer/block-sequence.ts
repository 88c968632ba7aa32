import type { GenerationEvent, JsonObject } from '@sluice/canonical';
import { BlockDecoder, isCall } from './block-decoder.ts';

interface Waiting {
  index: number;
  block: JsonObject;
  deltas: JsonObject[];
  isStopped: boolean;
}

/**
 * Puts a server's blocks in a row. The dialect says that blocks never overlap, but some servers interleave parallel
 * calls. A later block is then held back, undecoded, until the one before it has stopped.
 */
export class BlockSequence {
  /** Whether a call for the client has started. */
  hasCall = false;
  private current: { index: number; decoder: BlockDecoder } | undefined;
  private waiting: Waiting[] = [];
  /** How many of the waiting blocks have had their turn. */
  private taken = 0;
  /**
   * The waiting blocks that have not stopped, by number. There may be thousands, so a delta must not search the list.
   */
  private readonly unstopped = new Map<number, Waiting>();
  /** Canonical number of the next block that has content. */
  private next = 0;
  private readonly isSingleCall: boolean;

  /** `isSingleCall`: only the first of several calls counts. */
  constructor(isSingleCall: boolean) {
    this.isSingleCall = isSingleCall;
  }

  /** The server's number of the open text block; absent when another kind of block, or none, is open. */
  get textIndex(): number | undefined {
    return this.current?.decoder.isText ? this.current.index : undefined;
  }

  /** Whether a block has started and not stopped. */
  get isOpen(): boolean {
    return this.current !== undefined;
  }

  /** Takes a piece of text for the open block, which began as one of text. */
  pushText(text: string): GenerationEvent[] {
    const { current } = this;
    if (!current) return [];
    if (current.decoder.isText) return current.decoder.say('text', text);
    return this.push(current.index, { type: 'text_delta', text });
  }

  start(index: number, block: JsonObject): GenerationEvent[] {
    if (isCall(block)) {
      // Its deltas and its stop are then those of a block that never started, and are ignored.
      if (this.hasCall && this.isSingleCall) return [];
      this.hasCall = true;
    }
    if (this.current) {
      const waiting = { index, block, deltas: [], isStopped: false };
      this.waiting.push(waiting);
      this.unstopped.set(index, waiting);
      return [];
    }
    return this.open(index, block);
  }

  private open(index: number, block: JsonObject): GenerationEvent[] {
    const decoder = new BlockDecoder(block, this.next);
    this.current = { index, decoder };
    return decoder.start();
  }

  /**
   * A delta of a block that never started starts one, if the delta tells the block's type. So do thoughts in a block of
   * text, and text in one of thoughts: routers such as LiteLLM and claude-code-router do not always begin another block
   * when the model goes over from one to the other.
   */
  push(index: number, delta: JsonObject): GenerationEvent[] {
    if (this.current?.index === index) {
      const { decoder } = this.current;
      const other = decoder.mixesUp(delta) ? blockOf(delta) : undefined;
      if (other === undefined) return decoder.push(delta, index);
      return [...this.close(), ...this.open(index, other), ...this.push(index, delta)];
    }
    const waiting = this.unstopped.get(index);
    waiting?.deltas.push(delta);
    const block = waiting ? undefined : blockOf(delta);
    return block ? [...this.start(index, block), ...this.push(index, delta)] : [];
  }

  stop(index: number): GenerationEvent[] {
    if (this.current?.index === index) return [...this.close(), ...this.advance()];
    const stopped = this.unstopped.get(index);
    if (stopped) stopped.isStopped = true;
    this.unstopped.delete(index);
    return [];
  }

  /** Stops all blocks that are still open. */
  end(): GenerationEvent[] {
    for (const block of this.waiting) block.isStopped = true;
    return this.current ? [...this.close(), ...this.advance()] : [];
  }

  private close(): GenerationEvent[] {
    if (!this.current) return [];
    const { decoder } = this.current;
    this.current = undefined;
    const events = decoder.stop();
    if (decoder.hasContent) this.next += 1;
    return events;
  }

  private advance(): GenerationEvent[] {
    const events: GenerationEvent[] = [];
    while (!this.current) {
      const following = this.waiting[this.taken];
      if (!following) {
        this.waiting = [];
        this.taken = 0;
        break;
      }
      this.taken += 1;
      if (this.unstopped.get(following.index) === following) this.unstopped.delete(following.index);
      events.push(...this.open(following.index, following.block));
      for (const delta of following.deltas) events.push(...this.push(following.index, delta));
      if (following.isStopped) events.push(...this.close());
    }
    return events;
  }
}

/**
 * The block that a delta with text or thinking belongs to. LiteLLM of early 2026 does not start a block that the server
 * behind it does not announce.
 */
function blockOf({ type, text, thinking }: JsonObject): JsonObject | undefined {
  if (type === 'text_delta' && text) return { type: 'text', text: '' };
  return type === 'thinking_delta' && thinking ? { type: 'thinking', thinking: '' } : undefined;
}
