import type { FormatId, JsonObject, Message, SystemMessage, ToolResultPart } from '@sluice/canonical';
import type { Reader } from '../../reader.ts';
import { keptOn, noteForeign } from '../kept.ts';
import { acceptedMedia, encodeCall, encodePart } from '../parts.ts';
import { signCalls } from './call-signature.ts';
import { callNames } from './contents.ts';
import { inCallOrder } from './result-order.ts';
import { asModelsTake, encodeResult } from './results.ts';

/** The conversation as a server reads it. */
export interface EncodedContents {
  systemInstruction?: JsonObject;
  contents: JsonObject[];
}

interface Turn {
  role: 'user' | 'model';
  parts: JsonObject[];
  kept: JsonObject;
  /** Whether it ends with results: what the user says next belongs to the same turn. */
  isResults: boolean;
  /** Whether it has results: more results of the same step belong to it, whatever the user said in between. */
  hasResults: boolean;
}

/**
 * The conversation for an upstream. Leading system messages become the instruction. Later ones become user texts in
 * their place, because moving them up would change the context of what follows. All results of a step, and what the
 * user adds between or after them, share one turn. So does all that the model says before the user does.
 */
export function encodeContents(
  messages: readonly Message[],
  reader: Reader,
  dropped: FormatId[],
): EncodedContents {
  const found = messages.findIndex((message) => message.role !== 'system');
  // There has to be a turn, so a prompt of nothing but instructions is said by the user.
  const head = found === -1 ? 0 : found;
  const names = callNames(messages);
  const turns: Turn[] = [];
  const inOrder = reader.isForeign ? inCallOrder(messages) : messages;
  const places = resultPlaces(reader.isForeign ? messages : []);
  for (const [index, message] of inOrder.entries()) {
    if (index < head) continue;
    noteForeign(message, dropped);
    // Some clients reuse an id: a result belongs to the last call before it.
    for (const [id, name] of callNames([message])) names.set(id, name);
    const turn = encodeTurn(message, names, { path: `messages[${index}]`, places }, dropped);
    add(turns, reader.isForeign ? asServersTake(turn, reader.model) : withSignature(turn, reader.model));
  }
  if (reader.isForeign) putUserFirst(turns);
  const leading = messages.slice(0, head).filter((message) => message.role === 'system');
  const system = encodeSystem(leading, reader, dropped);
  return {
    ...(system && { systemInstruction: system }),
    contents: turns.map(({ role, parts, kept }) => ({ role, parts, ...kept })),
  };
}

function add(turns: Turn[], turn: Turn): void {
  const last = turns[turns.length - 1];
  const isSameStep = last?.isResults || (last?.hasResults && turn.isResults);
  const isSameAnswer = last?.role === 'model' && turn.role === 'model';
  const isFollowUp = isSameAnswer || (isSameStep && turn.role === 'user');
  if (last && isFollowUp && Object.keys(turn.kept).length === 0) {
    // No spread: there may be more parts than the stack takes as arguments.
    for (const part of turn.parts) last.parts.push(part);
    last.isResults = turn.isResults;
  } else if (turn.parts.length > 0) turns.push(turn);
}

/** Servers refuse a conversation that begins with a call, as a window over a long one may. */
function putUserFirst(turns: Turn[]): void {
  const isCall = turns[0]?.parts.some((part) => part.functionCall !== undefined);
  if (isCall)
    turns.unshift({ role: 'user', parts: [{ text: '…' }], kept: {}, isResults: false, hasResults: false });
}

/**
 * A turn of a client that speaks this dialect, unchanged. The exception is a model's step without any signature:
 * another model made it, and the client can only repeat what it got.
 */
function withSignature(turn: Turn, model: string): Turn {
  const isUnsigned = turn.role === 'model' && turn.parts.every((part) => part.thoughtSignature === undefined);
  return isUnsigned ? { ...turn, parts: signCalls(turn.parts, model) } : turn;
}

/** A turn of a client of another format: empty texts are left out, calls are signed and results completed. */
function asServersTake(turn: Turn, model: string): Turn {
  const parts = turn.parts.filter(saysSomething).map(acceptedMedia);
  if (turn.role === 'model') return { ...turn, parts: signCalls(parts, model) };
  return turn.isResults
    ? { ...turn, parts: parts.flatMap((part) => asModelsTake(part, model)) }
    : { ...turn, parts };
}

function saysSomething(part: JsonObject): boolean {
  return part.text !== '' || Object.keys(part).some(isContent);
}

function isContent(field: string): boolean {
  return field !== 'text' && field !== 'thought';
}

/** Where a message is in the request. */
interface Whereabouts {
  path: string;
  /** The paths of results that may have been put in another order; a refusal names where the client put them. */
  places: ReadonlyMap<ToolResultPart, string>;
}

function resultPlaces(messages: readonly Message[]): ReadonlyMap<ToolResultPart, string> {
  const places = new Map<ToolResultPart, string>();
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'tool') continue;
    for (const [index, result] of message.content.entries()) {
      places.set(result, `messages[${at}].content[${index}]`);
    }
  }
  return places;
}

function encodeTurn(
  message: Message,
  names: ReadonlyMap<string, string>,
  where: Whereabouts,
  dropped: FormatId[],
): Turn {
  const role = message.role === 'assistant' ? 'model' : 'user';
  return {
    role,
    parts: encodeParts(message, names, where, dropped),
    kept: keptOn(message),
    isResults: message.role === 'tool',
    hasResults: message.role === 'tool',
  };
}

function encodeParts(
  message: Message,
  names: ReadonlyMap<string, string>,
  { path, places }: Whereabouts,
  dropped: FormatId[],
): JsonObject[] {
  const at = (index: number) => `${path}.content[${index}]`;
  if (message.role === 'tool') {
    return message.content.map((result, index) =>
      encodeResult(result, names, places.get(result) ?? at(index), dropped),
    );
  }
  return message.content.map((part, index) => {
    if (part.type !== 'tool-call') return encodePart(part, at(index), dropped);
    noteForeign(part, dropped);
    return encodeCall(part).part;
  });
}

/** Absent if nothing is said. */
function encodeSystem(
  messages: readonly SystemMessage[],
  { isForeign }: Reader,
  dropped: FormatId[],
): JsonObject | undefined {
  const parts: JsonObject[] = [];
  for (const [index, message] of messages.entries()) {
    noteForeign(message, dropped);
    for (const [at, part] of message.content.entries()) {
      parts.push(encodePart(part, `messages[${index}].content[${at}]`, dropped));
    }
  }
  const said = isForeign ? parts.filter(saysSomething) : parts;
  return said.length === 0 ? undefined : { parts: said, ...Object.assign({}, ...messages.map(keptOn)) };
}
