import type { GenerationEvent, Json, Resume } from '@sluice/canonical';
import { type Passed, StopGate } from '../stop-gate.ts';
import type { ResponseChunk } from './library.ts';

/** Turns what the library reports into events of one answer, block by block. */
export class Answer {
  private readonly emit: (event: GenerationEvent) => void;
  private readonly idOfCall: (block: number) => string;
  private readonly gate: StopGate;
  private block: number;
  /** The kind of the block that may still grow. */
  private kind: 'text' | 'reasoning' | 'call' | undefined;
  /** Tokens of thoughts. */
  reasoningTokens = 0;
  private call = { name: '', args: '' };

  /** `delivered` is what the client already has of the answer. Its last part may grow. */
  constructor(
    emit: (event: GenerationEvent) => void,
    idOfCall: (block: number) => string,
    delivered: Resume['content'],
    stopSequences: readonly string[] | undefined,
  ) {
    this.gate = new StopGate(stopSequences);
    this.emit = emit;
    this.idOfCall = idOfCall;
    this.block = delivered.length - 1;
    const last = delivered.at(-1)?.type;
    this.kind = last === 'text' || last === 'reasoning' ? last : undefined;
  }

  /** The stop string that was said, after which nothing may follow. Absent until then. */
  get stopSequence(): string | undefined {
    return this.gate.matched;
  }

  addChunk({ segmentType, text: said, tokens }: ResponseChunk): void {
    const kind = segmentType === 'thought' ? 'reasoning' : 'text';
    // Blank lines between thoughts and answer belong to neither.
    const text = kind === 'text' && this.kind === 'reasoning' ? said.replace(/^\n+/, '') : said;
    if (text === '' || this.stopSequence !== undefined) return;
    if (this.kind !== kind) {
      this.flush();
      this.block += 1;
    }
    this.kind = kind;
    if (kind === 'text') this.sayText(this.gate.push(text, undefined, tokens.length));
    else this.sayThought(text, tokens.length);
  }

  /** The open call, with its arguments as far as they were generated. */
  get openCall(): { readonly name: string; readonly args: string } | undefined {
    return this.kind === 'call' ? this.call : undefined;
  }

  /** The name of a call is known, and `more` of its arguments. */
  growCall(name: string, more: string): void {
    this.beginCall(name);
    this.call.args += more;
  }

  /** Arguments are emitted at once, since only the whole tells which of them the model has left out. */
  closeCall(name: string, args: Json): void {
    this.beginCall(name);
    this.endCall(JSON.stringify(args));
  }

  /**
   * Emits what was held back. A call that was cut off ends with what it has, or it would look like one without
   * arguments.
   */
  close(): void {
    this.flush();
    if (this.kind === 'call') this.endCall(this.call.args);
  }

  private endCall(args: string): void {
    this.kind = undefined;
    this.emit({ type: 'tool-call-delta', block: this.block, arguments: args });
    this.emit({ type: 'tool-call-end', block: this.block });
  }

  private beginCall(name: string): void {
    if (this.kind === 'call') return;
    this.call = { name, args: '' };
    this.flush();
    this.kind = 'call';
    this.block += 1;
    this.emit({ type: 'tool-call-start', block: this.block, id: this.idOfCall(this.block), name });
  }

  private sayThought(text: string, tokens: number): void {
    this.reasoningTokens += tokens;
    this.emit({ type: 'reasoning-delta', block: this.block, text, tokens });
  }

  private flush(): void {
    this.sayText(this.gate.flush());
  }

  private sayText({ text, tokens }: Passed): void {
    if (text !== '') this.emit({ type: 'text-delta', block: this.block, text, tokens });
  }
}
