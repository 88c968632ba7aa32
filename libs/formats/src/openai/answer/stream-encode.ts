import {
  assertNever,
  extensionsOf,
  type FinishEvent,
  type GenerationEvent,
  type JsonObject,
  type OpaqueEvent,
  type StartEvent,
  type TextDelta,
  type ToolCallEnd,
  type ToolCallStart,
  type Usage,
} from '@sluice/canonical';
import { encodeCallId } from '../../calls/call-luggage.ts';
import type { ClientCall, StreamEncoder } from '../../codec.ts';
import { sseComment, sseData } from '../../sse.ts';
import { encodeErrorBody } from '../error.ts';
import { ownFields, ownNested } from '../foreign.ts';
import { isCallItem } from '../request/messages.ts';
import { FORMAT } from '../wire.ts';
import { finishFields } from './finish-fields.ts';
import { takeSealed } from './reasoning-details.ts';
import { encodeFinishReason } from './response.ts';
import { encodeUsage } from './usage.ts';

const doneMessage = 'data: [DONE]\n\n';

/** One answer of the stream. The strings surround the text of a delta and are built once. */
interface Choice {
  readonly index: number;
  readonly contentHead: string;
  readonly reasoningHead: string;
  /** The part of a chunk before the arguments of the open call. */
  argumentsHead: string;
  argumentsTail: string;
  /** Whether any arguments of the open call were sent. */
  hasArguments: boolean;
  /** Number of calls so far. They are numbered apart from blocks. */
  calls: number;
  block: number;
  /** Whether the open block is sent as a refusal. */
  isRefusal: boolean;
  hasRefusal: boolean;
  usage: Usage | undefined;
}

/** Writes `chat.completion.chunk` messages. Every chunk of a response has the id of the first generation. */
export class ChatStreamEncoder implements StreamEncoder {
  readonly contentType = 'text/event-stream; charset=utf-8';
  private readonly call: ClientCall;
  private readonly includeUsage: boolean;
  private readonly isLegacy: boolean;
  private readonly choices: (Choice | undefined)[];
  /** The fields that every chunk has; known once the first generation has started. */
  private body: JsonObject = {};
  /** The same as the part of a chunk before its choices; empty until then. */
  private head = '';
  /** Follows a delta in a chunk that says nothing else. */
  private readonly deltaTail: string;
  private readonly bodyTail: string;
  private isOver = false;

  constructor(call: ClientCall) {
    this.call = call;
    this.choices = Array.from({ length: call.choices });
    this.includeUsage = call.wire.includeUsage === true;
    this.isLegacy = call.wire.legacyFunctions === true;
    this.bodyTail = this.includeUsage ? '],"usage":null}\n\n' : ']}\n\n';
    this.deltaTail = `},"logprobs":null,"finish_reason":null}${this.bodyTail}`;
  }

  push(event: GenerationEvent, choiceIndex: number): string {
    if (this.isOver) return '';
    if (event.type === 'error') {
      this.isOver = true;
      return sseData(encodeErrorBody(event.error));
    }
    if (event.type === 'start') return this.start(event, choiceIndex);
    const choice = this.choices[choiceIndex];
    if (!choice || choice.usage) return '';
    if ('block' in event && event.block !== undefined && event.block !== choice.block) {
      choice.block = event.block;
      choice.isRefusal = false;
    }
    return this.encode(event, choice);
  }

  keepAlive(): string {
    return this.isOver ? '' : sseComment();
  }

  private encode(event: Exclude<GenerationEvent, { type: 'error' | 'start' }>, choice: Choice): string {
    switch (event.type) {
      case 'text-delta':
        if (event.logprobs || choice.isRefusal) return this.specialText(event, choice);
        return event.text === '' ? '' : choice.contentHead + JSON.stringify(event.text) + this.deltaTail;
      case 'reasoning-delta':
        return event.text === '' ? '' : choice.reasoningHead + JSON.stringify(event.text) + this.deltaTail;
      case 'tool-call-delta':
        // Blanks that come first mean nothing, and if nothing follows them, there are no arguments.
        if (event.arguments === '' || (!choice.hasArguments && event.arguments.trim() === '')) return '';
        choice.hasArguments = true;
        return this.argumentsText(event.arguments, choice);
      case 'tool-call-start':
        return this.startCall(event, choice);
      case 'tool-call-end':
        return this.endCall(event, choice);
      case 'block-annotation':
        if (event.extensions[FORMAT]?.refusal !== true) return '';
        choice.isRefusal = true;
        choice.hasRefusal = true;
        return '';
      case 'opaque':
        return event.format === FORMAT ? this.opaque(event, choice) : '';
      case 'finish':
        return this.finish(event, choice);
      default:
        return assertNever(event);
    }
  }

  private start(event: StartEvent, index: number): string {
    const firstHead = this.head === '' ? this.open(event) : this.head;
    const open = `${this.head}{"index":${index},"delta":{`;
    const choice: Choice = {
      index,
      contentHead: `${open}"content":`,
      reasoningHead: `${open}"reasoning_content":`,
      argumentsHead: '',
      argumentsTail: '',
      hasArguments: false,
      calls: 0,
      block: -1,
      isRefusal: false,
      hasRefusal: false,
      usage: undefined,
    };
    const isFirst = this.choices[index] === undefined;
    this.choices[index] = choice;
    if (!isFirst) return '';
    return this.chunk(choice, { role: 'assistant', content: '', refusal: null }, {}, firstHead);
  }

  /**
   * Sets what every chunk begins with. Returns the beginning of the first chunk, which alone has the server's lists and
   * objects: repeated in every chunk, the token ids of a prompt (vLLM) or the verdict of a filter on it (Azure) would
   * be most of the stream.
   */
  private open(event: StartEvent): string {
    const kept = extensionsOf(event, FORMAT) ?? {};
    const plain = Object.entries(kept).filter(([, value]) => typeof value !== 'object');
    this.body = {
      id: `chatcmpl-${event.id}`,
      object: 'chat.completion.chunk',
      created: Math.floor(event.createdAt / 1000),
      model: this.call.model,
      ...Object.fromEntries(plain),
    };
    this.head = headOf(this.body);
    return headOf({ ...this.body, ...kept });
  }

  private chunk(choice: Choice, delta: JsonObject, more: JsonObject = {}, head = this.head): string {
    const body = { index: choice.index, delta, logprobs: null, finish_reason: null, ...more };
    return head + JSON.stringify(body) + this.bodyTail;
  }

  private specialText({ text, logprobs }: TextDelta, choice: Choice): string {
    if (text === '' && !logprobs) return '';
    const place = choice.isRefusal ? 'refusal' : 'content';
    const chances = logprobs ? { content: null, refusal: null, [place]: logprobs } : null;
    return this.chunk(choice, { [place]: text }, { logprobs: chances });
  }

  private startCall(event: ToolCallStart, choice: Choice): string {
    const index = choice.calls;
    choice.calls += 1;
    choice.hasArguments = false;
    const { outer, inner } = ownNested(takeSealed(ownFields(event, [])).rest, 'function');
    const body = { ...inner, name: event.name, arguments: '' };
    const open = `${this.head}{"index":${choice.index},"delta":{`;
    if (this.isLegacy) {
      choice.argumentsHead = `${open}"function_call":{"arguments":`;
      choice.argumentsTail = `}${this.deltaTail}`;
      return index === 0 ? this.chunk(choice, { function_call: body }) : '';
    }
    choice.argumentsHead = `${open}"tool_calls":[{"index":${index},"function":{"arguments":`;
    choice.argumentsTail = `}}]${this.deltaTail}`;
    return this.chunk(choice, {
      tool_calls: [{ ...outer, index, id: encodeCallId(event, FORMAT), type: 'function', function: body }],
    });
  }

  private argumentsText(fragment: string, choice: Choice): string {
    // The deprecated form has room for one call only.
    if (this.isLegacy && choice.calls > 1) return '';
    return choice.argumentsHead + JSON.stringify(fragment) + choice.argumentsTail;
  }

  /** Clients parse the arguments, and a blank text does not parse: a call without arguments gets an empty object. */
  private endCall(event: ToolCallEnd, choice: Choice): string {
    const missing = choice.hasArguments ? '' : this.argumentsText('{}', choice);
    const { outer, inner } = ownNested(takeSealed(ownFields(event, [])).rest, 'function');
    if (this.isLegacy || Object.keys(outer).length + Object.keys(inner).length === 0) return missing;
    const index = choice.calls - 1;
    return (
      missing +
      this.chunk(choice, { tool_calls: [{ ...outer, index, function: { ...inner, arguments: '' } }] })
    );
  }

  private opaque({ value, block }: OpaqueEvent, choice: Choice): string {
    if (block === undefined) {
      // Safe to cast: made by `stream-decode.ts`, always with the unknown fields of a delta.
      return this.chunk(choice, (value as { delta: JsonObject }).delta);
    }
    if (!isCallItem(value)) return this.chunk(choice, { content: [value] });
    const index = choice.calls;
    choice.calls += 1;
    return this.chunk(choice, { tool_calls: [{ ...value, index }] });
  }

  private finish(event: FinishEvent, choice: Choice): string {
    choice.usage = event.usage;
    const kept = finishFields(event);
    const logprobs = kept.logprobs.length === 0 ? null : { content: kept.logprobs, refusal: null };
    const isLegacy = this.isLegacy && choice.calls > 0;
    const finish_reason = encodeFinishReason(event.reason, choice.hasRefusal, isLegacy);
    const last = { index: choice.index, delta: {}, ...kept.choice, logprobs, finish_reason };
    // A field that has changed replaces its first value: an object that has a name twice is no JSON to strict clients.
    const head = Object.keys(kept.body).length === 0 ? this.head : headOf({ ...this.body, ...kept.body });
    const text = head + JSON.stringify(last) + this.bodyTail;
    const usages = this.usages();
    if (!usages) return text;
    this.isOver = true;
    const total = this.includeUsage ? encodeUsage(usages) : undefined;
    return `${text}${total ? `${this.head}],"usage":${JSON.stringify(total)}}\n\n` : ''}${doneMessage}`;
  }

  /** The usage of every choice, once the last one has finished. */
  private usages(): Usage[] | undefined {
    const usages: Usage[] = [];
    for (let index = 0; index < this.call.choices; index += 1) {
      const usage = this.choices[index]?.usage;
      if (!usage) return undefined;
      usages.push(usage);
    }
    return usages;
  }
}

/** A chunk of these fields up to the first of its choices. */
function headOf(body: JsonObject): string {
  return `data: ${JSON.stringify(body).slice(0, -1)},"choices":[`;
}
