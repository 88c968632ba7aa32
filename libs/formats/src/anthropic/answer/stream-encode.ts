import {
  assertNever,
  extensionsOf,
  type FinishEvent,
  type GenerationEvent,
  isJsonObject,
  type Json,
  type JsonObject,
  type OpaqueEvent,
  type StartEvent,
  usageAtStart,
} from '@sluice/canonical';
import type { ClientCall, StreamEncoder } from '../../codec.ts';
import { sseComment, sseEvent } from '../../sse.ts';
import { encodeStreamError } from '../error.ts';
import { FORMAT } from '../wire.ts';
import { encodeContextManagement, encodeHead, encodeToolUse } from './response.ts';
import { encodeStop } from './stop-reason.ts';
import { StreamBlock } from './stream-block.ts';
import { encodeUsage, encodeUsageDelta } from './usage.ts';

/**
 * Writes a stream of this dialect: `message_start`, whole blocks one after the other, `message_delta`, `message_stop`.
 */
export class AnthropicStreamEncoder implements StreamEncoder {
  readonly contentType = 'text/event-stream; charset=utf-8';
  private readonly call: ClientCall;
  private state: 'waiting' | 'running' | 'ended' = 'waiting';
  private block: StreamBlock | undefined;
  /** Canonical number of `block`. */
  private number = -1;
  /** How many blocks the client has seen. Blocks of other dialects are not counted. */
  private blocks = 0;
  private hasMangledCall = false;

  constructor(call: ClientCall) {
    this.call = call;
  }

  push(event: GenerationEvent): string {
    if (this.state === 'ended') return '';
    switch (event.type) {
      case 'text-delta':
        if (event.block === this.number && this.block) return this.block.push(event.text);
        return this.open(event.block, 'text') + (this.block?.push(event.text) ?? '');
      case 'reasoning-delta':
        if (event.block === this.number && this.block) return this.block.push(event.text);
        return this.open(event.block, 'thinking') + (this.block?.push(event.text) ?? '');
      case 'tool-call-start': {
        const closed = this.open(event.block, 'tool');
        return closed + (this.block?.start(encodeToolUse(event)) ?? '');
      }
      case 'tool-call-delta':
        return this.block?.push(event.arguments) ?? '';
      case 'tool-call-end':
        return this.close();
      case 'block-annotation':
        return this.annotate(event.block, event.extensions[FORMAT]);
      case 'opaque':
        return this.opaque(event);
      case 'start':
        return this.start(event);
      case 'finish':
        return this.finish(event);
      case 'error':
        this.state = 'ended';
        return encodeStreamError(event.error, { requestId: this.call.requestId });
      default:
        return assertNever(event);
    }
  }

  /** `ping` is legal only inside a message; before it, a comment keeps the connection alive. */
  keepAlive(): string {
    if (this.state === 'ended') return '';
    return this.state === 'running' ? ping : sseComment();
  }

  private start(event: StartEvent): string {
    this.block = undefined;
    this.number = -1;
    // The answer begins anew.
    if (this.state !== 'waiting') return '';
    this.state = 'running';
    const message = {
      ...encodeHead(event.id, this.call),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      ...(this.call.wire.beta === true && { context_management: null }),
      usage: encodeUsage(usageAtStart(event)),
      ...extensionsOf(event, FORMAT),
    };
    return sseEvent('message_start', { type: 'message_start', message });
  }

  private finish(event: FinishEvent): string {
    const closed = this.close();
    this.state = 'ended';
    const { stop_reason: _word, context_management: edits, ...late } = extensionsOf(event, FORMAT) ?? {};
    const delta: JsonObject = { ...encodeStop(event, this.hasMangledCall), container: null, ...late };
    const end: JsonObject = {
      type: 'message_delta',
      delta,
      usage: encodeUsageDelta(event.usage),
      ...encodeContextManagement(this.call),
      ...(edits !== undefined && { context_management: edits }),
    };
    return closed + sseEvent('message_delta', end) + messageStop;
  }

  private annotate(number: number, fields: JsonObject | undefined): string {
    return fields !== undefined && number === this.number ? (this.block?.annotate(fields) ?? '') : '';
  }

  private opaque({ format, value, block }: OpaqueEvent): string {
    if (format !== FORMAT || !isJsonObject(value)) {
      return block === undefined ? '' : this.close();
    }
    if (block === undefined) return this.passEvent(value);
    return this.open(block, 'opaque') + (this.block?.startWhole(value) ?? '') + this.close();
  }

  /**
   * Passes on an event of a server of this dialect, with its block's number changed to the one that this client knows.
   */
  private passEvent(value: JsonObject): string {
    const { type } = value;
    if (typeof type !== 'string' || !/^\w+$/.test(type)) return '';
    if (value.index === undefined) return sseEvent(type, value);
    if (this.block === undefined) return '';
    return this.block.begin() + sseEvent(type, { ...value, index: this.block.index });
  }

  private open(number: number, kind: StreamBlock['kind']): string {
    const closed = this.close();
    this.number = number;
    this.block = new StreamBlock(kind, this.blocks, this.call.wire.hidesThinking === true);
    return closed;
  }

  private close(): string {
    const { block } = this;
    if (block === undefined) return '';
    this.block = undefined;
    const text = block.end();
    if (block.isStarted) this.blocks += 1;
    this.hasMangledCall ||= block.isMangled;
    return text;
  }
}

const ping = sseEvent('ping', { type: 'ping' });
const messageStop = sseEvent('message_stop', { type: 'message_stop' } satisfies Json);
