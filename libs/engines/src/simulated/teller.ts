import {
  assertNever,
  type FinishReason,
  type GenerationEvent,
  type Json,
  nothingSpent,
  type StartEvent,
  type Usage,
} from '@sluice/canonical';
import { type Passed, StopGate } from '../stop-gate.ts';
import { logprobOf } from './logprob.ts';
import type { Passage, Script } from './script.ts';
import { stampToken } from './stamp.ts';

/** What a step was: one more token, silence from here on, or the terminal event. */
export type Beat = 'token' | 'stall' | 'end';

/** A script, and the limits under which it is told. */
export interface Telling {
  script: Script;
  start: StartEvent;
  inputTokens: number;
  /** Absent means no limit. */
  maxOutputTokens?: number | undefined;
  stopSequences?: readonly string[] | undefined;
  /** How many alternatives to name for each token; absent means that no log probabilities are wanted. */
  alternatives?: number | undefined;
  /** Epoch milliseconds for stamps. */
  now(): number;
}

/** Tells a script token by token, as events in legal order. It has no clock: each step is one token. */
export class Teller {
  private readonly telling: Telling;
  private readonly emit: (event: GenerationEvent) => void;
  private started = false;
  private block = -1;
  private passageIndex = 0;
  private position = 0;
  private gate = new StopGate();
  /** Tokens generated, including those that a stop string swallowed. */
  private generated = 0;
  /** Tokens that were emitted. */
  private said = 0;
  private reasoning = 0;

  constructor(telling: Telling, emit: (event: GenerationEvent) => void) {
    this.telling = telling;
    this.emit = emit;
  }

  step(): Beat {
    const { script, start, maxOutputTokens } = this.telling;
    if (script.error && script.error.at <= this.generated) return this.fail();
    if (!this.started) {
      this.started = true;
      this.emit(start);
    }
    if (script.stallAt !== undefined && script.stallAt <= this.generated) return 'stall';
    const passage = script.passages[this.passageIndex];
    if (!passage) return this.finish(script.finish);
    if (maxOutputTokens !== undefined && this.generated >= maxOutputTokens) {
      if (this.position > 0) this.closePassage(passage);
      return this.finish('length');
    }
    return this.tell(passage);
  }

  private tell(passage: Passage): Beat {
    if (this.position === 0) this.openPassage(passage);
    const { script, stopSequences } = this.telling;
    const token = passage.tokenAt(this.position);
    this.generated += 1;
    this.position += 1;
    this.say(
      passage,
      script.isStamped && passage.type === 'text' ? stampToken(token, this.telling.now()) : token,
    );
    if (stopSequences && this.gate.matched !== undefined) return this.finish('stop', this.gate.matched);
    if (this.position < passage.count) return 'token';
    this.closePassage(passage);
    this.passageIndex += 1;
    this.position = 0;
    // The end comes with the last token, unless an error or stall was ordered for exactly this place.
    if (this.passageIndex < script.passages.length || this.isInterrupted(script)) return 'token';
    return this.finish(script.finish);
  }

  private isInterrupted(script: Script): boolean {
    return script.error?.at === this.generated || script.stallAt === this.generated;
  }

  private openPassage(passage: Passage): void {
    this.block += 1;
    this.gate = new StopGate(this.telling.stopSequences);
    if (passage.type !== 'call') return;
    this.emit({ type: 'tool-call-start', block: this.block, id: passage.id, name: passage.name });
  }

  private closePassage(passage: Passage): void {
    if (passage.type === 'text') this.sayText(this.gate.flush());
    if (passage.type === 'call') this.emit({ type: 'tool-call-end', block: this.block });
  }

  private say(passage: Passage, token: string): void {
    const { block } = this;
    switch (passage.type) {
      case 'text':
        this.sayText(this.gate.push(token, this.logprobs(token)));
        return;
      case 'reasoning':
        this.said += 1;
        this.reasoning += 1;
        this.emit({ type: 'reasoning-delta', block, text: token, tokens: 1 });
        return;
      case 'call':
        this.said += 1;
        this.emit({ type: 'tool-call-delta', block, arguments: token, tokens: 1 });
        return;
      default:
        assertNever(passage);
    }
  }

  private sayText({ text, tokens, logprobs }: Passed): void {
    if (text === '') return;
    this.said += tokens;
    const delta = { type: 'text-delta' as const, block: this.block, text, tokens };
    this.emit(logprobs.length === 0 ? delta : { ...delta, logprobs });
  }

  private logprobs(token: string): Json[] {
    const { alternatives } = this.telling;
    return alternatives === undefined ? [] : [logprobOf(token, this.generated, alternatives)];
  }

  private usage(): Usage {
    return {
      inputTokens: this.telling.inputTokens,
      outputTokens: this.said,
      ...(this.reasoning > 0 && { reasoningTokens: this.reasoning }),
    };
  }

  private finish(reason: FinishReason, stopSequence?: string): Beat {
    this.emit({
      type: 'finish',
      reason,
      ...(stopSequence !== undefined && { stopSequence }),
      usage: this.usage(),
    });
    return 'end';
  }

  private fail(): Beat {
    const { error } = this.telling.script;
    if (error) {
      this.emit({ type: 'error', error: error.info, usage: this.started ? this.usage() : nothingSpent });
    }
    return 'end';
  }
}
