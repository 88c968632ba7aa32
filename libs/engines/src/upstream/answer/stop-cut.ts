import {
  type BlockAnnotation,
  type GenerationEvent,
  type TextDelta,
  type Usage,
  usageAtStart,
} from '@sluice/canonical';
import { type Passed, StopGate } from '../../stop-gate.ts';

/** Where the events of a call go, and what ends it. */
export interface Listening {
  signal: AbortSignal;
  emit(event: GenerationEvent): void;
}

/**
 * Ends an answer, and its call, before the first of these strings in its text. Thoughts and tool calls are not
 * searched. A server reports its usage at the end, which a cut answer never reaches; then it is what the deltas stand
 * for, and what the server said of the prompt when it began, or the estimate by `inputTokens`.
 */
export async function cutAt(
  stops: readonly string[],
  inputTokens: () => number,
  { signal, emit }: Listening,
  call: (listening: Listening) => Promise<void>,
): Promise<void> {
  // A controller of its own: a combined signal would live as long as its longest source.
  const ending = new AbortController();
  const end = () => ending.abort();
  const cut = new StopCut({ stops, inputTokens, emit, onCut: end });
  signal.addEventListener('abort', end, { once: true });
  try {
    await call({ signal: ending.signal, emit: (event) => cut.push(event) });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

interface StopCutPlan {
  stops: readonly string[];
  inputTokens(): number;
  emit(event: GenerationEvent): void;
  /** Called once, after the finish of an answer that was cut: the rest is not wanted. */
  onCut(): void;
}

class StopCut {
  private readonly plan: StopCutPlan;
  private gate: StopGate;
  /** The block of the text that the gate searches. */
  private block: number | undefined;
  /** Annotations of a block whose text is held back. */
  private waiting: BlockAnnotation[] = [];
  /** What the server said of the prompt when it began. */
  private prompt: Usage = {};
  /** Tokens of all that was read, the stop string included. */
  private outputTokens = 0;
  private hasEnded = false;

  constructor(plan: StopCutPlan) {
    this.plan = plan;
    this.gate = new StopGate(plan.stops);
  }

  push(event: GenerationEvent): void {
    if (this.hasEnded) return;
    // If a server counts, one of the events that come together has the tokens of all.
    if ('tokens' in event) this.outputTokens += event.tokens ?? 0;
    switch (event.type) {
      case 'text-delta':
        this.addText(event);
        return;
      case 'block-annotation':
        if (this.gate.isHolding) this.waiting.push(event);
        else this.plan.emit(event);
        return;
      case 'start':
        this.prompt = usageAtStart(event);
        break;
      case 'opaque':
        // One without a block is independent of text, and may come between any two pieces.
        if (event.block !== undefined) this.release();
        break;
      default:
        this.release();
    }
    this.plan.emit(event);
  }

  private addText(event: TextDelta): void {
    if (event.block !== this.block) this.open(event.block);
    if (event.text === '' && !this.gate.isHolding) {
      this.plan.emit(event);
      return;
    }
    this.say(this.gate.push(event.text, event.logprobs, event.tokens ?? 0));
    if (this.gate.matched !== undefined) this.cut(this.gate.matched);
  }

  private open(block: number): void {
    this.release();
    this.block = block;
    this.gate = new StopGate(this.plan.stops);
  }

  /** Emits the held text, since no stop string can continue in what comes next. */
  private release(): void {
    this.say(this.gate.flush());
  }

  private say({ text, tokens, logprobs }: Passed): void {
    if (text === '' && logprobs.length === 0) return;
    // Text always has a block.
    const delta = { type: 'text-delta' as const, block: this.block ?? 0, text, tokens };
    this.plan.emit(logprobs.length === 0 ? delta : { ...delta, logprobs });
    if (!this.gate.isHolding) for (const event of this.waiting.splice(0)) this.plan.emit(event);
  }

  private cut(stopSequence: string): void {
    this.hasEnded = true;
    const { prompt, outputTokens } = this;
    const usage: Usage = {
      ...prompt,
      inputTokens: prompt.inputTokens ?? this.plan.inputTokens(),
      outputTokens,
    };
    this.plan.emit({ type: 'finish', reason: 'stop', stopSequence, usage });
    this.plan.onCut();
  }
}
