import { type Extensible, type FormatId, type JsonObject, type Opaque, SluiceError } from '@sluice/canonical';
import { format } from './wire.ts';

/** What the encoding of one request gathers and must keep the same from its first to its last block. */
export interface Encoding {
  /** Formats whose extensions could not be said, one entry per thing that carried some. */
  dropped: FormatId[];
  ids: CallIds;
  /** The model's name at the server. */
  readonly model: string;
}

/** Starts the encoding of one request. */
export function createEncoding(model: string): Encoding {
  return { dropped: [], ids: new CallIds(), model };
}

/** The fields that this format filed on a thing; those of other formats are noted as dropped. */
export function ownFields(thing: Extensible, encoding: Encoding): JsonObject {
  for (const name of Object.keys(thing.extensions ?? {})) if (name !== format) encoding.dropped.push(name);
  return thing.extensions?.[format] ?? {};
}

/** An opaque thing of this format as it was. Throws `invalid-request` at `path` for one of another format. */
export function ownValue(opaque: Opaque, path: string): JsonObject {
  if (opaque.format !== format) {
    throw unsayable(path, `this model's server does not understand a part of the ${opaque.format} format`);
  }
  // Opaques of this format are made by its decoders alone, from objects.
  return opaque.value as JsonObject;
}

/** Something that is said well in canonical terms and has no word in this dialect. */
export function unsayable(path: string, reason: string): SluiceError {
  return new SluiceError('invalid-request', `${path}: ${reason}`, { param: path });
}

interface GivenIds {
  /** Of the calls with one id, in their order. */
  readonly ids: string[];
  /** How many of them have a result. */
  answered: number;
}

/**
 * Ids of tool calls as this dialect demands them: of letters, digits, `_` and `-`, and none twice in a conversation. The
 * same calls always get the same. Some clients name a call by its function, and so do some servers: of several calls with
 * one id a result belongs to the first that has none.
 */
class CallIds {
  private readonly byOriginal = new Map<string, GivenIds>();
  private readonly taken = new Set<string>();
  /** The least that may be free, by what ids come to: many thousands of them may come to the same. */
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

  /** A result without a call has an id all the same: the server says what it misses. */
  ofResult(id: string): string {
    const given = this.byOriginal.get(id);
    if (!given) return this.ofCall(id);
    const next = given.ids[given.answered] ?? given.ids.at(-1) ?? id;
    given.answered += 1;
    return next;
  }
}
