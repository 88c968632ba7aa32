import {
  type AssistantPart,
  type InferenceRequest,
  type Json,
  type MediaPart,
  type Message,
  type Opaque,
  SluiceError,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '@sluice/canonical';
import type { HistoryItem, ModelTurn, ResponseItem } from './library.ts';

/** A conversation in the library's form, and what of it only another format understands. */
export interface History {
  items: HistoryItem[];
  /** The formats of parts that were left out, one entry for each part. */
  dropped: string[];
}

/**
 * The conversation of a request. What the model said and what its tools answered share one turn of the model, as the
 * library's chats expect. Thoughts are left out if the model's chats do not mark them (`marksThoughts`): there they
 * would count as spoken. Throws `invalid-request` for an image or document, since only text is evaluated here.
 */
export function writeHistory({ messages }: InferenceRequest, marksThoughts: boolean): History {
  const history: History = { items: [], dropped: [] };
  const turns = new Turns(history, messages, marksThoughts);
  for (const message of messages) turns.add(message);
  return history;
}

/** What an answer had said before it was lost, as the turn that the model continues. */
export function writeDelivered(content: readonly AssistantPart[]): ModelTurn {
  const isLast = (part: AssistantPart) => part === content.at(-1);
  return {
    type: 'model',
    response: content.flatMap((part): ResponseItem[] => {
      if (part.type === 'text') return [part.text];
      return part.type === 'reasoning' ? [thought(part.text, !isLast(part))] : [];
    }),
  };
}

/**
 * The same conversation with an answer begun whose thought is over, for a model that would otherwise begin with a
 * thought.
 */
export function skipThought(items: readonly HistoryItem[]): readonly HistoryItem[] {
  if (items.at(-1)?.type === 'model') return items;
  return [...items, { type: 'model', response: [thought('', true)] }];
}

class Turns {
  private readonly history: History;
  private readonly results: ReadonlyMap<ToolCallPart, ToolResultPart>;
  private readonly called: ReadonlySet<ToolResultPart>;
  private readonly marksThoughts: boolean;

  constructor(history: History, messages: readonly Message[], marksThoughts: boolean) {
    this.history = history;
    this.marksThoughts = marksThoughts;
    this.results = matchResults(messages);
    this.called = new Set(this.results.values());
  }

  add(message: Message): void {
    switch (message.role) {
      case 'system':
        // A client of messages may have one that only sets something, or whose text is no longer shown.
        if (message.content.length > 0) this.addText('system', this.textOf(message.content));
        return;
      case 'user':
        this.addText('user', this.textOf(message.content));
        return;
      case 'assistant':
        this.addStep(message.content);
        return;
      case 'tool':
        // The other results are part of their calls.
        for (const result of message.content) {
          if (!this.called.has(result)) this.addText('user', this.textOf(result.content));
        }
        return;
    }
  }

  /** Joins adjacent messages of a user: many models' templates refuse turns that do not alternate. */
  private addText(type: 'system' | 'user', text: string): void {
    const last = this.history.items.at(-1);
    if (last?.type === type) last.text += `\n\n${text}`;
    else this.history.items.push({ type, text });
  }

  /** Each message of the model is a step: its first call is not parallel to the call before it. */
  private addStep(content: readonly AssistantPart[]): void {
    const items = content.flatMap((part) => this.write(part));
    const first = items.find((item) => typeof item !== 'string' && item.type === 'functionCall');
    if (first) first.startsNewChunk = true;
    this.turnOfModel().push(...items);
  }

  private turnOfModel(): ResponseItem[] {
    const last = this.history.items.at(-1);
    if (last?.type === 'model') return last.response;
    const response: ResponseItem[] = [];
    this.history.items.push({ type: 'model', response });
    return response;
  }

  private write(part: AssistantPart): ResponseItem[] {
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : [part.text];
      case 'reasoning':
        return part.text === '' || !this.marksThoughts ? [] : [thought(part.text, true)];
      case 'tool-call': {
        const result = this.resultOf(part);
        return [{ type: 'functionCall', name: part.name, params: parsed(part.arguments), result }];
      }
      case 'media':
        throw textOnly();
      case 'opaque':
        this.history.dropped.push(part.format);
        return [];
    }
  }

  private resultOf(call: ToolCallPart): Json {
    const result = this.results.get(call);
    if (!result) return '';
    const text = this.textOf(result.content);
    return result.isError ? { error: text } : text;
  }

  private textOf(content: readonly (TextPart | MediaPart | Opaque)[]): string {
    const texts: string[] = [];
    for (const part of content) {
      if (part.type === 'media') throw textOnly();
      if (part.type === 'text') texts.push(part.text);
      else this.history.dropped.push(part.format);
    }
    return texts.join('\n');
  }
}

/** The result of each call that has one. Some clients restart their ids in each turn; then the order decides. */
function matchResults(messages: readonly Message[]): Map<ToolCallPart, ToolResultPart> {
  const called = messages.flatMap(({ role, content }) => (role === 'assistant' ? content : []));
  const calls = Map.groupBy(
    called.filter((part) => part.type === 'tool-call'),
    ({ id }) => id,
  );
  const results = Map.groupBy(
    messages.flatMap(({ role, content }) => (role === 'tool' ? content : [])),
    ({ toolCallId }) => toolCallId,
  );
  const matched = new Map<ToolCallPart, ToolResultPart>();
  for (const [id, ofId] of results) {
    const waiting = calls.get(id) ?? [];
    for (const [index, result] of ofId.entries()) {
      const call = waiting[index];
      if (call) matched.set(call, result);
    }
  }
  return matched;
}

function thought(text: string, ended: boolean): ResponseItem {
  return { type: 'segment', segmentType: 'thought', text, ended };
}

/** Arguments as a value. Text that is no JSON stays as it is, since the model is to see what it wrote. */
function parsed(text: string): Json {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

function textOnly(): SluiceError {
  return new SluiceError('invalid-request', 'the model accepts text only, no images and no documents');
}
