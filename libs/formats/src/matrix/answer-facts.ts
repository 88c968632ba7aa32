import {
  assertNever,
  collect,
  type Extensible,
  errorInfoOf,
  type Generation,
  type GenerationEvent,
  type Json,
  type JsonObject,
  type Usage,
} from '@sluice/canonical';
import { bareCallId } from '../calls/call-luggage.ts';
import { type Fact, ownWords } from './fact.ts';

/**
 * Everything that an answer says, or the kind of error that it ended with. `own` is the format whose own fields count,
 * too; '' leaves them out.
 */
export function answerFacts(events: readonly GenerationEvent[], own: string): Fact[] {
  let generation: Generation;
  try {
    generation = collect(events);
  } catch (thrown) {
    return [{ feature: 'errors', at: 'error', says: { kind: errorInfoOf(thrown).kind } }];
  }
  const { content, finish, logprobs } = generation;
  return [
    ...content.flatMap((part) => partFacts(part, own)),
    ...(logprobs ? [{ feature: 'log probabilities', at: 'logprobs', says: { list: logprobs } }] : []),
    finishFact(finish, own),
    ...usageFacts(finish.usage, own),
    ...wordsOf(generation, 'start', own),
  ];
}

function partFacts(part: Generation['content'][number], own: string): Fact[] {
  const words = part.type === 'opaque' ? {} : ownWords(part, own);
  const signed = 'own' in words;
  switch (part.type) {
    case 'text':
      return [
        {
          feature: signed ? 'text with citations or signatures' : 'text',
          at: 'text',
          says: { text: part.text, ...words },
        },
      ];
    case 'reasoning':
      return [
        {
          feature: signed ? 'thinking with signatures' : 'thinking',
          at: 'reasoning',
          says: { text: part.text, ...words },
        },
      ];
    case 'tool-call': {
      const { name, arguments: text } = part;
      // The client returns whatever travels in the id, so only the rest of it is compared.
      const id = bareId(part.id);
      return [{ feature: 'tool calls', at: 'tool-call', says: { id, name, arguments: text, ...words } }];
    }
    case 'media':
      return [{ feature: 'media', at: 'media', says: { source: { ...part.source } } }];
    case 'opaque':
      return [
        {
          feature: 'blocks that only one format knows',
          at: 'opaque',
          says: { format: part.format, value: part.value },
        },
      ];
    default:
      return assertNever(part);
  }
}

/** A server that is a gateway itself has packed something into the id, too. */
function bareId(id: string): string {
  const bare = bareCallId(id);
  return bare === id ? id : bareId(bare);
}

function finishFact(finish: Generation['finish'], own: string): Fact {
  const { reason, rawReason, stopSequence } = finish;
  const says: JsonObject = {
    reason,
    ...(rawReason !== undefined && { rawReason }),
    ...(stopSequence !== undefined && { stopSequence }),
    ...ownWords(finish, own),
  };
  return { feature: `end: ${stopSequence === undefined ? reason : 'stop string'}`, at: 'finish', says };
}

function usageFacts(usage: Usage, own: string): Fact[] {
  const { extensions: _own, ...counts } = usage;
  const facts = Object.entries(counts).map(([name, value]: [string, Json]) => ({
    feature: `usage: ${name.replace('Tokens', ' tokens').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
    at: `usage.${name}`,
    says: { value },
  }));
  return [...facts, ...wordsOf(usage, 'usage', own)];
}

function wordsOf(thing: Extensible, at: string, own: string): Fact[] {
  const words = ownWords(thing, own);
  return 'own' in words ? [{ feature: 'unknown fields', at, says: words }] : [];
}
