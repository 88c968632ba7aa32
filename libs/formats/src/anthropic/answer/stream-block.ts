import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { ArgumentScanner } from '../../calls/argument-scanner.ts';
import { sseEvent } from '../../sse.ts';
import { sealThinking, signThinking } from '../thinking/signature.ts';

type Kind = 'text' | 'thinking' | 'tool' | 'opaque';

const deltaOf: Readonly<Record<Kind, string>> = {
  text: '"text_delta","text":',
  thinking: '"thinking_delta","thinking":',
  tool: '"input_json_delta","partial_json":',
  opaque: '"input_json_delta","partial_json":',
};

/**
 * One block of a stream, from its start to its stop. It starts only when it has content, so that an annotation can
 * still be part of its first event, and so that an empty block leaves no trace. Hidden thinking starts at its end, so
 * that a failure before it is one before anything was shown.
 */
export class StreamBlock {
  readonly kind: Kind;
  readonly index: number;
  isStarted = false;
  private readonly isHidden: boolean;
  private readonly prefix: string;
  /** Clients join the fragments of a call and parse the result, so what is passed on has to form an object. */
  private readonly scanner: ArgumentScanner | undefined;
  private fields: JsonObject | undefined;
  private signature: string | undefined;
  private length = 0;
  /** The thinking so far, if the client does not see it. */
  private unseen = '';

  constructor(kind: Kind, index: number, hidesThinking: boolean) {
    this.kind = kind;
    this.index = index;
    this.isHidden = hidesThinking && kind === 'thinking';
    this.scanner = kind === 'tool' ? new ArgumentScanner() : undefined;
    this.prefix =
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":' +
      `${index},"delta":{"type":${deltaOf[kind]}`;
  }

  /** Whether this is a call whose arguments are unreadable or cut off; known once the block has ended. */
  get isMangled(): boolean {
    return this.scanner !== undefined && (!this.scanner.isReadable || this.scanner.isCut);
  }

  /** Writes a piece of the content. */
  push(piece: string): string {
    return this.say(this.scanner ? this.scanner.push(piece) : piece);
  }

  private say(piece: string): string {
    if (piece === '') return '';
    if (this.isHidden) {
      this.unseen += piece;
      return '';
    }
    const begun = this.isStarted ? '' : this.begin();
    this.length += piece.length;
    return `${begun}${this.prefix}${JSON.stringify(piece)}}}\n\n`;
  }

  /**
   * Takes fields of the block. A signature waits for the end and citations are events of their own; other fields have
   * an effect only until the block starts.
   */
  annotate({ signature, citations, ...fields }: JsonObject): string {
    if (typeof signature === 'string') this.signature = signature;
    if (!this.isStarted) this.fields = { ...this.fields, ...fields };
    if (!Array.isArray(citations) || citations.length === 0) return '';
    const begun = this.begin();
    return begun + citations.map((citation) => this.delta({ type: 'citations_delta', citation })).join('');
  }

  /** Starts the block with what is known of it by now; '' if it was started before. */
  begin(): string {
    if (this.isStarted) return '';
    if (this.kind === 'text') return this.start({ type: 'text', text: '', citations: [], ...this.fields });
    if (this.fields?.data !== undefined) return this.start({ type: 'redacted_thinking', ...this.fields });
    return this.start({ type: 'thinking', thinking: '', signature: '', ...this.fields });
  }

  /** Starts the block with exactly these fields. */
  start(block: JsonObject): string {
    this.isStarted = true;
    return sseEvent('content_block_start', {
      type: 'content_block_start',
      index: this.index,
      content_block: block,
    });
  }

  /**
   * Writes a block that is known whole. A call of the server's own tools gets its input as a delta, as the vendor's own
   * servers send it.
   */
  startWhole(block: JsonObject): string {
    const { type, input } = block;
    if (typeof type !== 'string' || !type.endsWith('tool_use') || !isJsonObject(input)) {
      return this.start(block);
    }
    return this.start({ ...block, input: {} }) + this.push(JSON.stringify(input));
  }

  /** Stops the block. Thinking always gets a signature. */
  end(): string {
    const isEmpty = this.fields === undefined && this.signature === undefined && this.unseen === '';
    if (!this.isStarted && isEmpty) return '';
    const begun = this.begin() + this.say(this.scanner?.end() ?? '');
    const stop = sseEvent('content_block_stop', { type: 'content_block_stop', index: this.index });
    return begun + this.sign() + stop;
  }

  private sign(): string {
    if (this.kind !== 'thinking' || this.fields?.data !== undefined) return '';
    const signature = this.isHidden
      ? sealThinking(this.unseen, this.signature)
      : (this.signature ?? signThinking(this.length));
    return this.delta({ type: 'signature_delta', signature });
  }

  private delta(delta: Json): string {
    return sseEvent('content_block_delta', { type: 'content_block_delta', index: this.index, delta });
  }
}
