import { type Extensible, extend, type GenerationEvent, type Json, type JsonObject } from '@sluice/canonical';
import { isTooDeep } from '../../calls/argument-depth.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { withoutDirectCaller } from '../request/messages-decode.ts';
import { unsealThinking } from '../thinking/signature.ts';
import { argumentsOf } from '../tool-arguments.ts';
import { FORMAT } from '../wire.ts';
import { decodeBlock } from './response.ts';

type Kind = 'text' | 'reasoning' | 'tool-call' | 'whole';

const startFields: Readonly<Record<Exclude<Kind, 'whole'>, ReadonlySet<string>>> = {
  text: new Set(['type', 'text', 'citations']),
  reasoning: new Set(['type', 'thinking', 'signature']),
  'tool-call': new Set(['type', 'id', 'name', 'input']),
};

/**
 * Turns one block of a server's stream into events. A block of an unknown type is collected and passed on whole at its
 * end.
 */
export class BlockDecoder {
  hasContent = false;
  private readonly block: JsonObject;
  private readonly number: number;
  private readonly kind: Kind;
  /** Whether any piece of `input` came as a delta. */
  private hasArguments = false;
  /** The JSON text of the `input` of a whole block, as far as it came. */
  private input = '';
  private signature: string | undefined;

  constructor(block: JsonObject, number: number) {
    this.block = { ...block };
    this.number = number;
    this.kind = kindOf(block);
  }

  start(): GenerationEvent[] {
    const { block, number } = this;
    switch (this.kind) {
      case 'tool-call': {
        this.hasContent = true;
        const own = extend(FORMAT, withoutDirectCaller(keptBeside(block, startFields['tool-call'])));
        return [{ type: 'tool-call-start', block: number, id: `${block.id}`, name: `${block.name}`, ...own }];
      }
      case 'text': {
        const citations = Array.isArray(block.citations) && block.citations.length > 0 ? block.citations : [];
        const own = { ...keptBeside(block, startFields.text), ...(citations.length > 0 && { citations }) };
        return [...this.say('text', block.text), ...this.annotate(own)];
      }
      case 'reasoning':
        return [
          ...this.sign(block.signature),
          ...this.say('reasoning', block.thinking),
          ...this.annotate(keptBeside(block, startFields.reasoning)),
        ];
      default:
        return [];
    }
  }

  push(delta: JsonObject, index: number): GenerationEvent[] {
    if (this.kind === 'whole') {
      this.gather(delta);
      return [];
    }
    switch (delta.type) {
      case 'text_delta':
        return this.say('text', delta.text);
      case 'thinking_delta':
        return [...this.say('reasoning', delta.thinking), ...this.count(delta, index)];
      case 'input_json_delta':
        return this.argue(delta.partial_json);
      case 'signature_delta':
        return this.sign(delta.signature);
      case 'citations_delta':
        return delta.citation === undefined ? [] : this.annotate({ citations: [delta.citation] });
      default:
        return [{ type: 'opaque', format: FORMAT, value: { type: 'content_block_delta', index, delta } }];
    }
  }

  stop(): GenerationEvent[] {
    switch (this.kind) {
      case 'text':
        return [];
      case 'reasoning':
        return this.signature === undefined ? [] : this.annotate({ signature: this.signature });
      case 'tool-call': {
        const rest = this.hasArguments ? [] : this.argue(argumentsOf(this.block.input));
        return [...rest, { type: 'tool-call-end', block: this.number }];
      }
      default: {
        const events = decodeBlock(this.wholeBlock(), this.number);
        this.hasContent = events.length > 0;
        return events;
      }
    }
  }

  get isText(): boolean {
    return this.kind === 'text';
  }

  /** Whether a delta has thoughts for this block of text, or text for this block of thoughts. */
  mixesUp({ type }: JsonObject): boolean {
    return type === 'thinking_delta' ? this.isText : type === 'text_delta' && this.kind === 'reasoning';
  }

  /** Ignores content that does not belong into a block of this kind: that is the server's mistake. */
  say(kind: 'text' | 'reasoning', text: Json | undefined): GenerationEvent[] {
    if (kind !== this.kind || typeof text !== 'string' || text === '') return [];
    this.hasContent = true;
    const block = this.number;
    return [kind === 'text' ? { type: 'text-delta', block, text } : { type: 'reasoning-delta', block, text }];
  }

  private argue(fragment: Json | undefined): GenerationEvent[] {
    if (this.kind !== 'tool-call' || typeof fragment !== 'string' || fragment === '') return [];
    this.hasArguments = true;
    return [{ type: 'tool-call-delta', block: this.number, arguments: fragment }];
  }

  /** Passes on how much was thought, which is all that there is to see of thinking that the client does not see. */
  private count(delta: JsonObject, index: number): GenerationEvent[] {
    if (this.kind !== 'reasoning' || typeof delta.estimated_tokens !== 'number') return [];
    const value = { type: 'content_block_delta', index, delta: { ...delta, thinking: '' } };
    return [...this.open(), { type: 'opaque', format: FORMAT, value }];
  }

  /** A signature made by another Sluice gateway may contain thinking that was not shown. */
  private sign(signature: Json | undefined): GenerationEvent[] {
    if (typeof signature !== 'string' || signature === '') return [];
    const { text, signature: server } = unsealThinking(signature);
    if (server !== undefined) this.signature = server;
    return this.hasContent ? [] : this.say('reasoning', text);
  }

  private annotate(fields: JsonObject): GenerationEvent[] {
    const { extensions }: Extensible = extend(FORMAT, fields);
    if (extensions === undefined) return [];
    return [...this.open(), { type: 'block-annotation', block: this.number, extensions }];
  }

  /** What belongs to a block needs an open one, so an empty delta opens a block that has no content yet. */
  private open(): GenerationEvent[] {
    if (this.hasContent) return [];
    this.hasContent = true;
    const type = this.kind === 'text' ? 'text-delta' : 'reasoning-delta';
    return [{ type, block: this.number, text: '' }];
  }

  /** Texts are appended, other fields replaced: all known deltas of the dialect work this way. */
  private gather(delta: JsonObject): void {
    for (const [name, value] of Object.entries(delta)) {
      const old = this.block[name];
      if (name === 'type' || name === '__proto__') continue;
      if (name === 'partial_json') this.input += typeof value === 'string' ? value : '';
      else this.block[name] = typeof old === 'string' && typeof value === 'string' ? old + value : value;
    }
  }

  private wholeBlock(): JsonObject {
    return this.input === '' ? this.block : { ...this.block, input: readInput(this.input) };
  }
}

/** Text that is cut off, or nested deeper than anybody can pass on, stays text. */
function readInput(text: string): Json {
  try {
    const input: Json = JSON.parse(text);
    return isTooDeep(input) ? text : input;
  } catch {
    return text;
  }
}

function kindOf(block: JsonObject): Kind {
  if (block.type === 'text') return 'text';
  if (block.type === 'thinking') return 'reasoning';
  return isCall(block) ? 'tool-call' : 'whole';
}

/** Whether a block of the wire is a call that the client is to run. */
export function isCall({ type, id, name }: JsonObject): boolean {
  return type === 'tool_use' && typeof id === 'string' && typeof name === 'string';
}
