import {
  type AssistantPart,
  type InferenceRequest,
  type Json,
  type MediaPart,
  type Message,
  type Opaque,
  SluiceError,
  type TextPart,
  type ToolResultPart,
} from '@sluice/canonical';
import type { HistoryItem, ModelTurn, ResponseItem } from './library.ts';

/** A conversation as the library takes it, and what of it only another format understands. */
export interface History {
  items: HistoryItem[];
  /** The formats of parts that were left out, one for each part. */
  dropped: string[];
}

/**
 * The conversation of a request. What the model said and what its tools answered stand in one turn of the model,
 * which is how chats are written for it. Throws `invalid-request` for a picture or document: text is all that is
 * evaluated here.
 */
export function writeHistory({ messages }: InferenceRequest): History {
  const history: History = { items: [], dropped: [] };
  const turns = new Turns(history, messages);
  for (const message of messages) turns.add(message);
  return history;
}

/** What an answer had said before it was lost, as the turn that the model goes on with. */
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

class Turns {
  private readonly history: History;
  private readonly results = new Map<string, ToolResultPart>();
  private readonly calls = new Set<string>();

  constructor(history: History, messages: readonly Message[]) {
    this.history = history;
    for (const { role, content } of messages) {
      if (role === 'tool') for (const part of content) this.results.set(part.toolCallId, part);
      if (role === 'assistant')
        for (const part of content) if (part.type === 'tool-call') this.calls.add(part.id);
    }
  }

  add(message: Message): void {
    switch (message.role) {
      case 'system':
      case 'user':
        this.addText(message.role, this.textOf(message.content));
        return;
      case 'assistant':
        this.addStep(message.content);
        return;
      case 'tool':
        // The others stand with their calls.
        for (const result of message.content) {
          if (!this.calls.has(result.toolCallId)) this.addText('user', this.textOf(result.content));
        }
        return;
    }
  }

  /** Two messages of a user in a row become one: the templates of many models refuse turns that do not alternate. */
  private addText(type: 'system' | 'user', text: string): void {
    const last = this.history.items.at(-1);
    if (last?.type === type) last.text += `\n\n${text}`;
    else this.history.items.push({ type, text });
  }

  /** Each message of the model is a step: only its first call is not parallel to the one before. */
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
        return part.text === '' ? [] : [thought(part.text, true)];
      case 'tool-call': {
        const result = this.resultOf(part.id);
        return [{ type: 'functionCall', name: part.name, params: parsed(part.arguments), result }];
      }
      case 'media':
        throw textOnly();
      case 'opaque':
        this.history.dropped.push(part.format);
        return [];
    }
  }

  private resultOf(callId: string): Json {
    const result = this.results.get(callId);
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

function thought(text: string, ended: boolean): ResponseItem {
  return { type: 'segment', segmentType: 'thought', text, ended };
}

/** Arguments as a value; as they are where they are no JSON, for the model is to see what it wrote. */
function parsed(text: string): Json {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

function textOnly(): SluiceError {
  return new SluiceError('invalid-request', 'the model takes text only, no pictures and no documents');
}
