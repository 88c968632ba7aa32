import type { GenerationEvent, Json, Resume } from '@sluice/canonical';
import type { ResponseChunk } from './library.ts';

/** Says what the library reports as events of one answer, block by block. */
export class Answer {
  private readonly emit: (event: GenerationEvent) => void;
  private readonly idOfCall: (block: number) => string;
  private block: number;
  /** Of the block that may still grow. */
  private kind: 'text' | 'reasoning' | 'call' | undefined;

  /** `delivered` is what the client has already of it: its last part may grow. */
  constructor(
    emit: (event: GenerationEvent) => void,
    idOfCall: (block: number) => string,
    delivered: Resume['content'],
  ) {
    this.emit = emit;
    this.idOfCall = idOfCall;
    this.block = delivered.length - 1;
    const last = delivered.at(-1)?.type;
    this.kind = last === 'text' || last === 'reasoning' ? last : undefined;
  }

  addChunk({ segmentType, text: said, tokens }: ResponseChunk): void {
    const kind = segmentType === 'thought' ? 'reasoning' : 'text';
    // The lines between thoughts and answer are neither's.
    const text = kind === 'text' && this.kind === 'reasoning' ? said.replace(/^\n+/, '') : said;
    if (text === '') return;
    if (this.kind !== kind) this.block += 1;
    this.kind = kind;
    this.emit({ type: `${kind}-delta`, block: this.block, text, tokens: tokens.length });
  }

  /** The name of a call is known. Said again while it is open, it changes nothing. */
  openCall(name: string): void {
    if (this.kind === 'call') return;
    this.kind = 'call';
    this.block += 1;
    this.emit({ type: 'tool-call-start', block: this.block, id: this.idOfCall(this.block), name });
  }

  /** Arguments come whole: a part of them could end within a character. */
  closeCall(name: string, args: Json): void {
    this.openCall(name);
    this.emit({ type: 'tool-call-delta', block: this.block, arguments: JSON.stringify(args) });
    this.close();
  }

  /** Ends a call that was cut off. */
  close(): void {
    if (this.kind !== 'call') return;
    this.kind = undefined;
    this.emit({ type: 'tool-call-end', block: this.block });
  }
}
