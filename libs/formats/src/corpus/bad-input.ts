import type { Json } from '@sluice/canonical';
import type { WireRequest } from '../codec.ts';
import { formats } from '../registry.ts';
import { mutateJson } from './mutate-json.ts';
import { mutateStream } from './mutate-stream.ts';
import { oddNames, oddTexts, oddValues } from './oddities.ts';
import { Random } from './random.ts';
import { readSeeds, type Seeds } from './seeds.ts';

/** Something that a stranger may send: a client's request or an upstream's answer. */
export type BadInput = { id: string; format: string } & (
  | { kind: 'request'; wire: WireRequest }
  /** A request body that may not even be JSON; it is sent over HTTP as it is. */
  | { kind: 'text'; path: string; text: string }
  | { kind: 'body'; status: number; body: Json }
  | { kind: 'stream'; bytes: Uint8Array }
);

/** How many inputs to make, and from which seed. */
export interface CorpusOptions {
  seed: number;
  /** How many inputs are made by mutation. Those from the lists are added to them. */
  mutations: number;
}

/** The corpus that the tests run: 4,000 mutations and all of the lists. */
export const standardCorpus: CorpusOptions = { seed: 20_261_121, mutations: 4_000 };

/** Makes the same inputs in the same order for the same options. */
export function createCorpus({ seed, mutations }: CorpusOptions): BadInput[] {
  const seeds = readSeeds();
  const random = new Random(seed);
  const inputs = [...listed(seeds)];
  for (let index = 0; index < mutations; index += 1) inputs.push(mutated(index, seeds, random));
  return inputs;
}

function mutated(index: number, seeds: Seeds, random: Random): BadInput {
  const id = `mutation-${index}`;
  const turn = index % 4;
  if (turn === 2) {
    const { format, body } = random.pick(seeds.bodies);
    return {
      id,
      format,
      kind: 'body',
      status: random.pick([200, 400, 418, 500]),
      body: mutateJson(body, random),
    };
  }
  if (turn === 3) {
    const { format, text } = random.pick(seeds.streams);
    return { id, format, kind: 'stream', bytes: mutateStream(text, random) };
  }
  const { format, wire } = random.pick(seeds.requests);
  // Safe to cast: the bodies are strangers' JSON, and `WireRequest` promises nothing more.
  const body = mutateJson(wire.body as Json, random);
  return { id, format, kind: 'request', wire: { ...wire, ...spoilQuery(random), body } };
}

function spoilQuery(random: Random): Partial<WireRequest> {
  if (random.below(8) !== 0) return {};
  return {
    query: { [random.pick(oddNames)]: random.pick(['', 'sse', 'SSE', '\u0000', '__proto__']), beta: 'true' },
  };
}

/** The inputs from the lists: odd bodies, odd texts, and odd paths for the format that reads its path. */
function* listed(seeds: Seeds): Generator<BadInput> {
  for (const { server } of formats) {
    const { format } = server;
    const seed = seeds.requests.find((request) => request.format === format && request.name === 'text');
    if (!seed) continue;
    for (const [index, body] of oddValues.entries()) {
      yield { id: `value-${index}`, format, kind: 'request', wire: { ...seed.wire, body } };
      yield { id: `answer-${index}`, format, kind: 'body', status: 200, body };
    }
    for (const [index, text] of oddTexts.entries()) {
      yield { id: `text-${index}`, format, kind: 'text', path: seed.wire.path, text };
      const bytes = new TextEncoder().encode(`data: ${text}\n\n`);
      yield { id: `data-${index}`, format, kind: 'stream', bytes };
      yield { id: `raw-${index}`, format, kind: 'stream', bytes: new TextEncoder().encode(text) };
    }
    for (const [index, name] of oddNames.entries()) {
      const path = `/v1beta/models/${encodeURIComponent(name.toWellFormed())}:generateContent`;
      const places = [path, `/v1/models/${name}`, `/v1beta/models/${name}:${name}`, `//${name}//`];
      if (format === 'gemini') {
        for (const [at, place] of places.entries()) {
          yield { id: `path-${index}-${at}`, format, kind: 'request', wire: { ...seed.wire, path: place } };
        }
      }
    }
  }
}
