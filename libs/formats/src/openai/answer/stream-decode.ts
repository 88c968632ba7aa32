import {
  type ErrorInfo,
  extend,
  type GenerationEvent,
  isJsonObject,
  type Json,
  type JsonObject,
  saysNothing,
  type Usage,
} from '@sluice/canonical';
import type { GenerationContext, StreamDecoder, StreamMessage } from '../../codec.ts';
import { unreadable } from '../../failures/unreadable.ts';
import { objectOf } from '../../json/json-object.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { decodeErrorMessage, decodeInBandError } from '../error.ts';
import { FORMAT } from '../wire.ts';
import { AnswerBlocks } from './answer-blocks.ts';
import { ChunkTemplate } from './chunk-template.ts';
import { decodeFinishWord } from './finish.ts';
import {
  addToBody,
  addToChoice,
  addToMessage,
  type FinishFields,
  fileFinishFields,
  newsIn,
} from './finish-fields.ts';
import { detailsField, sealedIn } from './reasoning-details.ts';
import { decodeUsage } from './usage.ts';

/** If a server's chunks never repeat (each has a random field), learning stops after this many attempts. */
const mostLessons = 4;

/** Padding of random length, with which OpenAI and Mistral hide from the network how long each token is. */
const padding = ['obfuscation', 'p'];

/**
 * The fields of a chunk, of a choice and of a delta that are read by name or mean nothing. `channel` is Groq's: gpt-oss
 * has one for its thoughts and one for its text, as the names of their fields say.
 */
const chunkFields = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', ...padding]);
const choiceFields = new Set(['index', 'delta', 'message', 'finish_reason', 'logprobs']);
const deltaFields = new Set([
  'role',
  'content',
  'refusal',
  'reasoning_content',
  'reasoning',
  'tool_calls',
  'function_call',
  'channel',
]);

/** Unknown to us, but what the answer is: sound of OpenAI and MiniMax, and pictures of routers. */
const answerFields = ['audio', 'audio_content', 'images'];

/** Where parts hold a list of thoughts, by the type of the part: Mistral's and Databricks'. */
const thoughtsOf = new Map([
  ['thinking', 'thinking'],
  ['reasoning', 'summary'],
]);

/**
 * Reads the chunks of any server that speaks the dialect, with guards instead of a schema: there is a chunk for every
 * token, and a field of an odd shape must not cost the answer.
 */
export class ChatStreamDecoder implements StreamDecoder {
  private readonly context: GenerationContext;
  private readonly blocks: AnswerBlocks;
  private startFields: JsonObject | undefined;
  private word: string | undefined;
  private usage: Usage = {};
  private isOver = false;
  private readonly kept: FinishFields = { message: {}, choice: {}, body: {}, logprobs: [] };
  /** How this server writes thinking and text, once learned. */
  private readonly templates: { reasoning?: ChunkTemplate; text?: ChunkTemplate } = {};
  private lessons = 0;
  private lastSaid: 'reasoning' | 'text' | undefined;
  private hasDeltas = false;
  private hasSpoken = false;
  /**
   * Unknown fields that say nothing, such as an empty list, until something does: they alone would open the stream, and
   * a failure after them would not have its true status.
   */
  private unsaid: JsonObject | undefined;

  constructor(context: GenerationContext) {
    this.context = context;
    this.blocks = new AnswerBlocks(context.id, context.isSingleCall ?? false);
  }

  push({ event, data }: StreamMessage): GenerationEvent[] {
    if (this.isOver || data === '') return [];
    const known = this.readKnown(data);
    if (known) return known;
    if (event === 'error') return this.fail(decodeErrorMessage(data));
    if (data.trim() === '[DONE]') {
      // Routers also send the marker if the server behind them broke off; an incomplete call must not be run.
      return this.word === undefined && this.blocks.isHalf
        ? this.fail(unreadable('incomplete'))
        : this.done();
    }
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch {
      return this.fail(unreadable('notJson'));
    }
    const { logprobs } = this.kept;
    const before = logprobs.length;
    const events = this.read(chunk);
    // A template would lose what a chunk adds besides its text.
    if (logprobs.length === before) this.learn(data, events);
    return events;
  }

  /** Some servers close without `[DONE]`. A finish reason is then enough. */
  end(): GenerationEvent[] {
    if (this.isOver) return [];
    return this.word === undefined ? this.fail(unreadable('incomplete')) : this.done();
  }

  /** Ends a single body, which is complete by itself. */
  close(): GenerationEvent[] {
    return this.isOver ? [] : this.done();
  }

  /** Reads one parsed chunk. */
  read(chunk: unknown): GenerationEvent[] {
    const error = decodeInBandError(chunk);
    if (error) return this.fail(error);
    if (!isJsonObject(chunk)) return this.fail(unreadable('noAnswer'));
    const { choices, usage } = chunk;
    if (isJsonObject(usage)) this.usage = decodeUsage(usage);
    // Some servers answer 200 with words of their own instead of an answer. The answer has not begun then.
    if (!this.startFields && !Array.isArray(choices)) return [];
    const events = this.readBody(keptBeside(chunk, chunkFields));
    for (const choice of Array.isArray(choices) ? choices : []) {
      // We asked for one answer. If a server sends more, the first one is read.
      if (isJsonObject(choice) && (choice.index ?? 0) === 0) this.readChoice(choice, events);
    }
    const first = this.hasSpoken ? -1 : events.findIndex(({ type }) => type !== 'start');
    if (first !== -1) events.splice(first, 0, ...this.speak());
    return events;
  }

  /** From here on, all that comes is passed on as it comes. */
  private speak(): GenerationEvent[] {
    this.hasSpoken = true;
    const { unsaid } = this;
    return unsaid ? [{ type: 'opaque', format: FORMAT, value: { delta: unsaid } }] : [];
  }

  private readKnown(data: string): GenerationEvent[] | undefined {
    const { text, reasoning } = this.templates;
    const said = text?.read(data);
    if (said !== undefined) return said === '' ? [] : this.blocks.text('text', said);
    const thought = reasoning?.read(data);
    if (thought !== undefined) return thought === '' ? [] : this.blocks.text('reasoning', thought);
    return undefined;
  }

  private learn(data: string, events: readonly GenerationEvent[]): void {
    const [event] = events;
    if (events.length !== 1 || this.lessons >= mostLessons) return;
    if (event?.type !== 'text-delta' && event?.type !== 'reasoning-delta') return;
    if (event.type === 'text-delta' && event.logprobs) return;
    // A list goes on with every chunk, even if the chunks are alike.
    if (Object.values(this.kept.choice).some((value) => Array.isArray(value) && value.length > 0)) return;
    const kind = event.type === 'text-delta' ? 'text' : 'reasoning';
    // There may be only one chunk of its kind, and learning costs as much as reading two: 3 µs.
    const isFirst = this.lastSaid !== kind;
    this.lastSaid = kind;
    if (isFirst) return;
    this.lessons += 1;
    const template = ChunkTemplate.learn(data, event.text);
    if (template) this.templates[kind] = template;
  }

  private readBody(fields: JsonObject): GenerationEvent[] {
    const known = this.startFields;
    if (!known) {
      this.startFields = fields;
      const { isSingleCall: _wish, ...start } = this.context;
      return [{ type: 'start', ...start, ...extend(FORMAT, fields) }];
    }
    addToBody(this.kept.body, known, fields);
    return [];
  }

  /**
   * Appends to `events` what a choice says. It avoids spreading: an answer that comes at once may hold more events than
   * the stack takes as arguments.
   */
  private readChoice(wire: JsonObject, events: GenerationEvent[]): void {
    const { delta, message, finish_reason, logprobs, usage } = wire;
    // Moonshot's place for the usage, and the only one if nobody asked for the other.
    if (isJsonObject(usage) && Object.keys(this.usage).length === 0) this.usage = decodeUsage(usage);
    addToChoice(this.kept.choice, keptBeside(wire, choiceFields));
    this.hasDeltas ||= isJsonObject(delta);
    // After deltas, a message repeats them all: MiniMax and routers end a stream so.
    const said = delta ?? (this.hasDeltas ? undefined : message);
    this.readDelta(objectOf(said), readLogprobs(logprobs), events);
    if (typeof finish_reason === 'string' && finish_reason !== '') this.word = finish_reason;
  }

  private readDelta(delta: JsonObject, logprobs: Json[] | undefined, events: GenerationEvent[]): void {
    const { content, refusal, reasoning_content, reasoning, tool_calls, function_call: legacy } = delta;
    const thinking = reasoning_content || reasoning;
    if (typeof thinking === 'string' && thinking !== '')
      events.push(...this.blocks.text('reasoning', thinking));
    const kind = typeof refusal === 'string' && refusal !== '' ? 'refusal' : 'text';
    const text = kind === 'refusal' ? refusal : content;
    const place = this.blocks.logprobsPlace;
    if (kind === 'refusal' && typeof content === 'string' && content !== '') {
      events.push(...this.blocks.text('text', content));
    }
    if (typeof text === 'string' && text !== '') events.push(...this.blocks.text(kind, text, logprobs));
    else if (Array.isArray(text)) for (const part of text) events.push(...this.readPart(part));
    else if (logprobs && place) events.push(...this.blocks.text(place, '', logprobs));
    else for (const each of logprobs ?? []) this.kept.logprobs.push(each);
    this.blocks.seal(sealedIn(delta[detailsField]));
    // Text Generation Inference before 3.1 sends a single call instead of a list.
    const calls = isJsonObject(tool_calls) ? [tool_calls] : tool_calls;
    let hasCalls = false;
    for (const item of Array.isArray(calls) ? calls : []) {
      if (isJsonObject(item)) events.push(...this.blocks.call(item));
      hasCalls ||= isJsonObject(item);
    }
    // llama-cpp-python writes each call under both names.
    if (!hasCalls && isJsonObject(legacy)) events.push(...this.blocks.call({ index: 0, function: legacy }));
    const isSilent = !this.hasSpoken && events.every(({ type }) => type === 'start');
    events.push(...this.readUnknown(keptBeside(delta, deltaFields), isSilent));
  }

  /** A few servers send a list of parts instead of a text. */
  private readPart(part: Json): GenerationEvent[] {
    if (!isJsonObject(part)) return [];
    if (part.type === 'text' && typeof part.text === 'string') return this.blocks.text('text', part.text);
    const thoughts = part[thoughtsOf.get(String(part.type)) ?? ''];
    if (!Array.isArray(thoughts)) return this.blocks.opaque(part);
    const text = thoughts.map(textOf).join('');
    return text === '' ? [] : this.blocks.text('reasoning', text);
  }

  /** Passes unknown fields on in a stream as they come, unless they repeat, and merges them for the single body. */
  private readUnknown(fields: JsonObject, isSilent: boolean): GenerationEvent[] {
    if (Object.keys(fields).length === 0) return [];
    const news = newsIn(this.kept.message, fields);
    if (Object.keys(news).length === 0) return [];
    addToMessage(this.kept.message, news);
    if (isSilent && saysNothing(news)) {
      this.unsaid = { ...this.unsaid, ...news };
      return [];
    }
    const isContent = answerFields.some((name) => !saysNothing(news[name] ?? null));
    return [{ type: 'opaque', format: FORMAT, value: { delta: news }, ...(isContent && { isContent }) }];
  }

  private done(): GenerationEvent[] {
    if (!this.startFields) return this.fail(unreadable('empty'));
    const decoded = decodeFinishWord(this.word ?? 'stop');
    if (decoded === 'failed') return this.fail(unreadable('brokenOff'));
    // The end of the answer may have cut off the name, since some servers send arguments first. Such a call is left out.
    const isCut = decoded.reason === 'length' || decoded.reason === 'content-filter';
    if (this.blocks.hasNamelessCalls && !isCut) return this.fail(unreadable('nameless'));
    this.isOver = true;
    const waiting = this.blocks.end();
    const reason = this.blocks.reasonOf(decoded.reason);
    const { choice } = this.kept;
    const stop = choice.stop_reason ?? choice.matched_stop;
    const finish: GenerationEvent = {
      type: 'finish',
      reason,
      ...(decoded.rawReason !== undefined && { rawReason: decoded.rawReason }),
      ...(reason === 'stop' && typeof stop === 'string' && { stopSequence: stop }),
      usage: this.usage,
      ...fileFinishFields(this.kept),
    };
    return [...(this.hasSpoken ? [] : this.speak()), ...waiting, finish];
  }

  private fail(error: ErrorInfo): GenerationEvent[] {
    this.isOver = true;
    return [{ type: 'error', error, ...(Object.keys(this.usage).length > 0 && { usage: this.usage }) }];
  }
}

function textOf(part: Json): string {
  return isJsonObject(part) && typeof part.text === 'string' ? part.text : '';
}

function readLogprobs(logprobs: Json | undefined): Json[] | undefined {
  if (!isJsonObject(logprobs)) return undefined;
  const list = Array.isArray(logprobs.content) ? logprobs.content : logprobs.refusal;
  return Array.isArray(list) && list.length > 0 ? list : undefined;
}
