import { type AssistantPart, type GenerationEvent, type Resume, SluiceError } from '@sluice/canonical';

/**
 * Filters a generation that is repeated from its beginning for a reader who already has a part of it: drops exactly the
 * delivered characters and passes on the rest.
 */
export class DeliveredFilter {
  private readonly parts: readonly AssistantPart[];
  private readonly comparable: boolean;
  private readonly emit: (event: GenerationEvent) => void;
  private block = -1;
  /** Characters of the current block that were repeated. */
  private told = 0;

  /** `comparable` is false if a repetition differs by design (stamps). */
  constructor(resume: Resume, comparable: boolean, emit: (event: GenerationEvent) => void) {
    this.parts = resume.content;
    this.comparable = comparable;
    this.emit = emit;
  }

  /** Whether everything that was delivered has been repeated. */
  get isCaughtUp(): boolean {
    const last = this.parts.length - 1;
    if (this.block !== last) return this.block > last;
    return this.told >= textOf(this.parts[last]).length;
  }

  /** Throws `upstream-failed` if the delivered text is not what this model says. */
  push(event: GenerationEvent): void {
    const rest = this.undelivered(event);
    if (rest) this.emit(rest);
  }

  private undelivered(event: GenerationEvent): GenerationEvent | undefined {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta': {
        const text = this.tell(event.block, event.text);
        return text === '' ? undefined : { ...event, text };
      }
      case 'tool-call-delta': {
        const text = this.tell(event.block, event.arguments);
        return text === '' ? undefined : { ...event, arguments: text };
      }
      case 'tool-call-start':
        this.tell(event.block, '');
        return event.block < this.parts.length ? undefined : event;
      case 'tool-call-end':
        // It is unknown whether the end of the last call was delivered, so it is emitted again.
        return event.block < this.parts.length - 1 ? undefined : event;
      case 'start':
        return event;
      default:
        if (event.type === 'finish' && !this.isCaughtUp) throw mismatch();
        return event;
    }
  }

  /** The part of `text` that was not delivered yet. */
  private tell(block: number, text: string): string {
    if (block !== this.block) {
      this.block = block;
      this.told = 0;
    }
    const delivered = textOf(this.parts[block]);
    const overlap = Math.min(text.length, Math.max(0, delivered.length - this.told));
    const again = text.slice(0, overlap);
    if (this.comparable && again !== delivered.slice(this.told, this.told + overlap)) throw mismatch();
    this.told += text.length;
    return text.slice(overlap);
  }
}

function mismatch(): SluiceError {
  return new SluiceError('upstream-failed', 'the delivered text is not what this model generates');
}

function textOf(part: AssistantPart | undefined): string {
  if (part?.type === 'text' || part?.type === 'reasoning') return part.text;
  return part?.type === 'tool-call' ? part.arguments : '';
}
