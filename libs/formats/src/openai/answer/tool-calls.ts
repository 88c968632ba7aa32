import { extend, type GenerationEvent, isJsonObject, type JsonObject } from '@sluice/canonical';
import { keptBeside, keptFields } from '../../json/kept-fields.ts';
import { argumentsText } from '../request/messages.ts';
import { FORMAT } from '../wire.ts';

/** A call whose pieces are still coming. */
export interface OpenCall {
  /** Its number among all calls of the answer, from 0. */
  readonly place: number;
  /** The server's id for it; absent if it gave none. */
  wireId: string | undefined;
  name: string;
  /** Arguments that came and were not yet passed on. */
  arguments: string;
  hasArguments: boolean;
  /** All of its arguments so far. */
  text: string;
  /** The same, as long as they came in one piece. */
  onlyPiece: string | undefined;
  isStarted: boolean;
  kept: JsonObject;
  /** A call of a type that only this dialect knows, as far as it has come. */
  other: JsonObject | undefined;
}

/** The fields of a call and of its body that are read by name. */
const callFields = new Set(['index', 'id', 'type', 'function']);
const bodyFields = new Set(['name', 'arguments']);

/**
 * Assigns pieces to calls. Servers differ: a number may be missing or always 0, an id empty or late, a name split,
 * repeated or later than the arguments. A new call begins with a different id or number, or with another name after a
 * name and arguments; the same name counts if both calls have complete arguments of their own.
 */
export class ToolCalls {
  readonly calls: OpenCall[] = [];
  /** The last call of each number and of each id that the server gave; most answers have no calls. */
  private byIndex: Map<number, OpenCall> | undefined;
  private byId: Map<string, OpenCall> | undefined;

  /** Adds the piece to its call, and returns that call. */
  add(item: JsonObject): OpenCall {
    const body = isJsonObject(item.function) ? item.function : {};
    const id = typeof item.id === 'string' && item.id !== '' ? item.id : undefined;
    const name = typeof body.name === 'string' ? body.name : '';
    const index = typeof item.index === 'number' ? item.index : undefined;
    const fragment = argumentsText(body.arguments);
    const call = this.find({ index, id, name, fragment }) ?? this.open(index, item);
    if (call.wireId === undefined && id !== undefined) {
      call.wireId = id;
      this.byId ??= new Map();
      this.byId.set(id, call);
    }
    if (call.other) {
      mergeOther(call.other, item);
      return call;
    }
    if (!call.isStarted) call.name = joinName(call.name, name);
    call.arguments += fragment;
    call.text += fragment;
    if (fragment !== '') call.onlyPiece = call.hasArguments ? undefined : fragment;
    call.hasArguments ||= fragment !== '';
    const inner = keptBeside(body, bodyFields);
    Object.assign(
      call.kept,
      keptBeside(item, callFields),
      Object.keys(inner).length > 0 && { function: inner },
    );
    return call;
  }

  /** Whether the arguments of any call are cut off or otherwise no JSON. */
  get areHalf(): boolean {
    return this.calls.some(({ text }) => text.trim() !== '' && !isJson(text));
  }

  private find({ index, id, name, fragment }: Piece): OpenCall | undefined {
    if (index === undefined && id !== undefined) return this.byId?.get(id);
    const call = index === undefined ? this.calls.at(-1) : this.byIndex?.get(index);
    if (!call) return undefined;
    if (index === undefined) return name !== '' && call.name !== '' ? undefined : call;
    const isOtherId = id !== undefined && call.wireId !== undefined && id !== call.wireId;
    const isOtherName = call.hasArguments && name !== '' && call.name !== '' && name !== call.name;
    const isRepeated = id === undefined && name !== '' && isWhole(fragment) && isWhole(call.onlyPiece);
    return (isOtherId && name !== '') || isOtherName || isRepeated ? undefined : call;
  }

  private open(wireIndex: number | undefined, item: JsonObject): OpenCall {
    const isOther = typeof item.type === 'string' && item.type !== '' && item.type !== 'function';
    const call: OpenCall = {
      place: this.calls.length,
      wireId: undefined,
      name: '',
      arguments: '',
      hasArguments: false,
      text: '',
      onlyPiece: undefined,
      isStarted: false,
      kept: {},
      other: isOther ? {} : undefined,
    };
    this.calls.push(call);
    if (wireIndex !== undefined) {
      this.byIndex ??= new Map();
      this.byIndex.set(wireIndex, call);
    }
    return call;
  }
}

interface Piece {
  index: number | undefined;
  id: string | undefined;
  name: string;
  /** A piece of the arguments. */
  fragment: string;
}

/** Whether a piece of arguments is a complete object, after which nothing can follow in the same call. */
function isWhole(piece: string | undefined): boolean {
  if (piece === undefined || !/^\s*\{/.test(piece) || !/\}\s*$/.test(piece)) return false;
  return isJson(piece);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A name may come whole, repeated, extended, or piece by piece. */
function joinName(known: string, piece: string): string {
  return piece.startsWith(known) ? piece : known + piece;
}

/** Appends to an `input` text inside the body that the type names; replaces anything else. */
function mergeOther(target: JsonObject, { index, ...item }: JsonObject): void {
  for (const [name, value] of Object.entries(keptFields(item))) {
    const old = target[name];
    if (!isJsonObject(value) || !isJsonObject(old)) {
      target[name] = value;
      continue;
    }
    const merged = { ...old };
    for (const [field, piece] of Object.entries(value)) {
      if (field === '__proto__') continue;
      const before = merged[field];
      merged[field] = field === 'input' && typeof before === 'string' ? before + String(piece) : piece;
    }
    target[name] = merged;
  }
}

/** The start of a call, and the arguments that have come. */
export function startEvents(call: OpenCall, block: number, id: string): GenerationEvent[] {
  call.isStarted = true;
  const kept = extend(FORMAT, call.kept);
  call.kept = {};
  return [{ type: 'tool-call-start', block, id, name: call.name, ...kept }, ...deltaEvents(call, block)];
}

/** The arguments that came since the last time. */
export function deltaEvents(call: OpenCall, block: number): GenerationEvent[] {
  if (call.arguments === '') return [];
  const fragment = call.arguments;
  call.arguments = '';
  return [{ type: 'tool-call-delta', block, arguments: fragment }];
}
