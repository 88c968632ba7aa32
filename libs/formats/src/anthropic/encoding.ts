import type { Extensible, FormatId, JsonObject, Opaque } from '@sluice/canonical';
import type { Reader } from '../reader.ts';
import { FORMAT, invalid } from './wire.ts';

/** State of the encoding of one request, shared by all its blocks. */
export interface Encoding extends Reader {
  /** Formats whose extensions could not be expressed, one entry for each thing that carried some. */
  dropped: FormatId[];
  ids: CallIds;
}

/** Starts the encoding of one request. */
export function createEncoding(reader: Reader): Encoding {
  return { dropped: [], ids: new CallIds(), ...reader };
}

/** The fields that this format filed on a thing. Fields of other formats are noted as dropped. */
export function ownFields(thing: Extensible, encoding: Encoding): JsonObject {
  for (const name of Object.keys(thing.extensions ?? {})) if (name !== FORMAT) encoding.dropped.push(name);
  return thing.extensions?.[FORMAT] ?? {};
}

/** The original value of an opaque thing of this format. Throws `invalid-request` at `path` for another format's. */
export function ownValue(opaque: Opaque, path: string): JsonObject {
  if (opaque.format !== FORMAT) {
    throw invalid(path, `this model's server does not understand a part of the ${opaque.format} format`);
  }
  // Safe to cast: only this format's decoders make its opaques, and they make them from objects.
  return opaque.value as JsonObject;
}

interface GivenIds {
  /** New ids of the calls that shared one id, in their order. */
  readonly ids: string[];
  /** How many of these calls have a result so far. */
  answered: number;
}

/**
 * Maps ids of tool calls to what this dialect demands: letters, digits, `_` and `-` only, and unique in a conversation.
 * The mapping is deterministic. Some clients and servers use the function's name as the id: of several calls with the
 * same id, a result belongs to the first call that has none yet.
 */
class CallIds {
  private readonly byOriginal = new Map<string, GivenIds>();
  private readonly taken = new Set<string>();
  /** For each cleaned id, the least suffix that may be free. Many thousands of ids may be cleaned to the same one. */
  private readonly numbers = new Map<string, number>();

  ofCall(id: string): string {
    const given = this.byOriginal.get(id) ?? { ids: [], answered: 0 };
    const clean = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
    let unique = clean;
    let number = this.numbers.get(clean) ?? 2;
    for (; this.taken.has(unique); number += 1) unique = `${clean}_${number}`;
    this.numbers.set(clean, number);
    given.ids.push(unique);
    this.byOriginal.set(id, given);
    this.taken.add(unique);
    return unique;
  }

  /** A result without a call gets an id, too, so that the server can say what is missing. */
  ofResult(id: string): string {
    const given = this.byOriginal.get(id);
    if (!given) return this.ofCall(id);
    const next = given.ids[given.answered] ?? given.ids.at(-1) ?? id;
    given.answered += 1;
    return next;
  }
}
