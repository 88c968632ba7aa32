import {
  extend,
  type FinishEvent,
  type GenerationEvent,
  isDelta,
  isJsonObject,
  type Json,
  type JsonObject,
  promptUsage,
  type Usage,
} from '@sluice/canonical';
import type { GenerationContext } from '../../codec.ts';
import { type Complaint, unreadable } from '../../failures/unreadable.ts';
import { objectOf } from '../../json/json-object.ts';
import { keptFields } from '../../json/kept-fields.ts';
import { decodeStreamError } from '../error.ts';
import { FORMAT, nested } from '../kept.ts';
import { decodePart } from '../parts.ts';
import { parseResponseBody, type WirePart, type WireResponse } from '../wire.ts';
import { decodeFinishReason } from './finish.ts';
import { decodeLogprobs } from './logprobs.ts';
import { decodeUsage } from './usage.ts';

type WireCandidate = NonNullable<WireResponse['candidates']>[number];

/**
 * Reads the chunks of an upstream's answer; a single body is the only chunk. The finish is held back until `end`: some
 * servers repeat `finishReason` in every chunk, and some send the usage after it.
 */
export class AnswerDecoder {
  private readonly context: GenerationContext;
  private started = false;
  private ended = false;
  private block = -1;
  private open: 'text' | 'reasoning' | 'other' = 'other';
  private calls = 0;
  private finishReason: string | undefined;
  private usage: Usage | undefined;
  private outputTokens = 0;
  private candidate: JsonObject = {};
  private response: JsonObject = {};
  /** Of tokens that are no text. */
  private readonly logprobs: Json[] = [];

  constructor(context: GenerationContext) {
    this.context = context;
  }

  push(body: unknown): GenerationEvent[] {
    if (this.ended) return [];
    const chunk = parseResponseBody(body);
    if (!chunk || !isJsonObject(body)) return this.fail('noAnswer');
    if (chunk.error) {
      this.ended = true;
      return [{ type: 'error', error: decodeStreamError(body), ...this.spent() }];
    }
    const {
      candidates,
      usageMetadata,
      promptFeedback,
      modelVersion: _version,
      responseId: _id,
      ...rest
    } = chunk;
    if (usageMetadata) this.usage = decodeUsage(usageMetadata);
    const events = this.start();
    if (!candidates && !usageMetadata && !promptFeedback) {
      return [...events, { type: 'opaque', format: FORMAT, value: keptFields(rest) }];
    }
    this.response = { ...this.response, ...keptFields({ ...rest, promptFeedback }) };
    // Other choices were not asked for.
    const candidate = candidates?.find(({ index = 0 }) => index === 0);
    if (candidate) this.readCandidate(candidate, events);
    if (promptFeedback?.blockReason && !candidate) this.finishReason = promptFeedback.blockReason;
    return events;
  }

  end(): GenerationEvent[] {
    if (this.ended) return [];
    if (this.finishReason === undefined) return this.fail('incomplete');
    this.ended = true;
    return [this.finish(this.finishReason)];
  }

  fail(complaint: Complaint): GenerationEvent[] {
    if (this.ended) return [];
    this.ended = true;
    return [{ type: 'error', error: unreadable(complaint), ...this.spent() }];
  }

  private spent(): { usage?: Usage } {
    return this.usage ? { usage: this.usage } : {};
  }

  private start(): GenerationEvent[] {
    if (this.started) return [];
    this.started = true;
    const { id, model, createdAt } = this.context;
    // The dialect's other usage fields grow with the answer.
    const { extensions: _growing, ...counts } = this.usage ?? {};
    return [{ type: 'start', id, model, createdAt, ...promptUsage(counts) }];
  }

  private finish(word: string): FinishEvent {
    const isRefused = 'promptFeedback' in this.response && this.block === -1;
    const decoded = decodeFinishReason(word, this.calls > 0);
    const kept = {
      ...nested('candidate', this.candidate),
      ...nested('response', this.response),
      ...(this.logprobs.length > 0 && { logprobs: this.logprobs }),
    };
    return {
      type: 'finish',
      ...(isRefused && decoded.reason === 'other' ? { reason: 'content-filter', rawReason: word } : decoded),
      usage: this.usage ?? {},
      ...extend(FORMAT, kept),
    };
  }

  private readCandidate(wire: WireCandidate, events: GenerationEvent[]): void {
    const { index: _index, content, finishReason, logprobsResult, ...rest } = wire;
    const before = events.length;
    for (const part of content?.parts ?? []) this.readPart(part, events);
    // Imitations of the API send an empty reason until the end.
    if (finishReason) this.finishReason = finishReason;
    this.candidate = mergeCandidate(this.candidate, keptFields(rest));
    this.addCounts(events, before, logprobsResult);
  }

  /** Adds a chunk's token count to its first delta, or else its first block, and its logprobs to its first text. */
  private addCounts(events: GenerationEvent[], from: number, logprobsResult: JsonObject | undefined): void {
    const total = this.usage?.outputTokens ?? this.outputTokens;
    const tokens = total - this.outputTokens;
    const said = events.slice(from);
    const first = said.find(isDelta) ?? said.find((event) => event.type === 'opaque');
    if (first && tokens > 0) {
      first.tokens = tokens;
      this.outputTokens = total;
    }
    const logprobs = logprobsResult ? decodeLogprobs(logprobsResult) : [];
    const text = said.find((event) => event.type === 'text-delta');
    if (text && logprobs.length > 0) text.logprobs = logprobs;
    else for (const each of logprobs) this.logprobs.push(each);
  }

  private readPart(part: WirePart, events: GenerationEvent[]): void {
    if (part.functionCall) {
      this.readCall(part, part.functionCall, events);
      return;
    }
    const decoded = part.functionResponse ? undefined : decodePart(part);
    if (decoded?.type !== 'text' && decoded?.type !== 'reasoning') {
      this.block += 1;
      this.open = 'other';
      events.push({ type: 'opaque', format: FORMAT, value: keptFields(part), block: this.block });
      return;
    }
    const { type, text, extensions } = decoded;
    if (text === '' && !extensions) return;
    const isNew = this.open !== type;
    if (isNew) this.block += 1;
    this.open = type;
    // An empty part that only carries a signature needs a block of its own, unless it follows what it signs.
    if (text !== '' || isNew) {
      events.push({ type: type === 'text' ? 'text-delta' : 'reasoning-delta', block: this.block, text });
    }
    if (extensions) {
      events.push({ type: 'block-annotation', block: this.block, extensions });
      // A signature covers what is before it, so more text is another part.
      this.open = 'other';
    }
  }

  private readCall(
    part: WirePart,
    call: NonNullable<WirePart['functionCall']>,
    events: GenerationEvent[],
  ): void {
    // The dialect cannot ask for one call at most. A client that wants one answers the first and never the others.
    if (this.context.isSingleCall && this.calls > 0) return;
    const { id, name, args, ...inner } = call;
    const { functionCall: _call, ...beside } = part;
    this.block += 1;
    this.calls += 1;
    this.open = 'other';
    const { block } = this;
    const kept = { ...keptFields(beside), ...nested('functionCall', keptFields(inner)) };
    events.push(
      {
        type: 'tool-call-start',
        block,
        // Unlike the ids of a prompt, these must be unique in a conversation that we do not see.
        id: id || `call_${this.context.id}_${this.calls}`,
        name,
        ...extend(FORMAT, kept),
      },
      { type: 'tool-call-delta', block, arguments: JSON.stringify(args ?? {}) },
      { type: 'tool-call-end', block },
    );
  }
}

/**
 * Later fields replace earlier ones. The sources of citations accumulate, since each chunk gives those of its own text.
 */
function mergeCandidate(before: JsonObject, added: JsonObject): JsonObject {
  const [known, more] = [sourcesOf(before), sourcesOf(added)];
  const merged = { ...before, ...added };
  if (known.length > 0 && more.length > 0) {
    // Nobody else holds this list, so it can grow in place. A new list for each chunk would be quadratic.
    for (const source of more) known.push(source);
    merged.citationMetadata = { ...citations(added), citationSources: known };
  }
  return merged;
}

function citations({ citationMetadata }: JsonObject): JsonObject {
  return objectOf(citationMetadata);
}

function sourcesOf(candidate: JsonObject) {
  const { citationSources } = citations(candidate);
  return Array.isArray(citationSources) ? citationSources : [];
}
