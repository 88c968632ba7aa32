import { isJsonObject, type Json } from '@sluice/canonical';
import { argumentsAcross } from './arguments.ts';
import type { Fact } from './fact.ts';
import { each, involves, type Rule, saying, without } from './rule.ts';

const chat = involves('openai');
const messages = involves('anthropic');
const generate = involves('gemini');

/** Error kinds that a dialect may give the same name. */
const errorClass: Readonly<Record<string, string>> = {
  saturated: 'busy',
  'rate-limited': 'busy',
  unavailable: 'busy',
  internal: 'failed',
  cancelled: 'failed',
  'upstream-failed': 'failed',
  'method-not-allowed': 'invalid-request',
  'unsupported-media': 'invalid-request',
};

/** Every allowed difference between what an upstream answered and what a client reads, in the order of application. */
export const answerRules: readonly Rule[] = [
  {
    id: 'own-words-stay-home',
    says: 'Fields, blocks, signatures, citations and finish words that only one format knows reach clients of that format only. A signature that a server wants back with a call travels to other clients in the id of the call, which then ends in `-sluice1-…`.',
    holds: () => true,
    rewrite: each((fact, { format, dialect }) => {
      if (fact.at === 'opaque') {
        return format === dialect && fact.says.format === format ? fact : undefined;
      }
      if (format === dialect || fact.at !== 'finish') return fact;
      return without(fact, 'rawReason');
    }),
  },
  {
    id: 'hidden-thinking',
    says: 'Thinking is not shown to a client that asked not to see it or, for generate content, did not ask to see it. A client of messages returns it in the signature of the empty block.',
    holds: ({ format, wire }) =>
      wire.hidesThinking === true || (format === 'gemini' && wire.includeThoughts !== true),
    rewrite: each((fact) => (fact.at === 'reasoning' ? undefined : fact)),
  },
  {
    id: 'nothing-said',
    says: 'Empty text and thinking are left out.',
    holds: () => true,
    rewrite: each((fact) => {
      const isText = fact.at === 'text' || fact.at === 'reasoning';
      return isText && fact.says.text === '' && fact.says.own === undefined ? undefined : fact;
    }),
  },
  {
    id: 'one-place-each',
    says: 'Chat completions have one place each for thinking, text, refusal and calls, so they come in this order.',
    holds: chat,
    rewrite: (facts) => joinTexts(inPlaces(facts)),
  },
  {
    id: 'joined-text',
    says: 'Generate content does not tell where one block of plain text ends and the next begins.',
    holds: generate,
    rewrite: joinTexts,
  },
  {
    id: 'arguments-are-objects',
    says: 'Messages and generate content hold the arguments of a call as an object. Text that is not JSON is repaired if its meaning is clear; otherwise it becomes empty (in a stream of messages, it is closed where it stops being readable). White space is not kept.',
    holds: () => true,
    rewrite: each((fact, { format, dialect }) => {
      if (fact.at !== 'tool-call' || typeof fact.says.arguments !== 'string') return fact;
      return saying(fact, { arguments: argumentsAcross(fact.says.arguments, [dialect, format]) });
    }),
  },
  {
    id: 'lost-call',
    says: 'An answer does not end as a call if its only call has unreadable arguments.',
    holds: ({ hasLostCall }) => hasLostCall,
    rewrite: each((fact) =>
      fact.at === 'finish' ? without(saying(fact, { reason: 'call or not' }), 'rawReason') : fact,
    ),
  },
  {
    id: 'foreign-call',
    says: 'An answer does not end as a call if its only calls are of a kind that the client’s format does not know.',
    holds: ({ format, dialect }) => format !== dialect,
    rewrite: (facts) =>
      facts.some(({ at }) => at === 'tool-call')
        ? [...facts]
        : facts.map((fact) => (fact.says.reason === 'tool-calls' ? saying(fact, { reason: 'stop' }) : fact)),
  },
  {
    id: 'stop-string-untold',
    says: 'Only messages report which stop string was hit.',
    holds: ({ format, dialect }) => format !== 'anthropic' || dialect !== 'anthropic',
    rewrite: each((fact) => (fact.at === 'finish' ? without(fact, 'stopSequence') : fact)),
  },
  {
    id: 'other-ends',
    says: 'Chat completions and messages have no word for other kinds of end, which read as a natural end.',
    holds: (crossing) => chat(crossing) || messages(crossing),
    rewrite: each((fact) =>
      fact.at === 'finish' && fact.says.reason === 'other' ? saying(fact, { reason: 'stop' }) : fact,
    ),
  },
  {
    id: 'finish-words',
    says: 'Chat completions replace the finish word of a server by their own.',
    holds: chat,
    rewrite: each((fact) => (fact.at === 'finish' ? without(fact, 'rawReason') : fact)),
  },
  {
    id: 'early-or-late',
    says: 'In a single body, unknown fields that came early cannot be told from those that came late.',
    holds: ({ dialect, stream, isUpstreamStream }) => dialect === 'openai' && !(stream && isUpstreamStream),
    rewrite: (facts) => {
      const finish = facts.find(({ at }) => at === 'finish')?.says.own;
      const body = isJsonObject(finish) && isJsonObject(finish.body) ? finish.body : undefined;
      if (body === undefined) return [...facts];
      const left = facts.map((fact) => {
        if (fact.at !== 'finish' || !isJsonObject(finish)) return fact;
        const { body: _late, ...own } = finish;
        return Object.keys(own).length === 0 ? without(fact, 'own') : saying(fact, { own });
      });
      const early = left.find(({ at }) => at === 'start')?.says.own;
      const start = { ...(isJsonObject(early) && early), ...body };
      const others = left.filter(({ at }) => at !== 'start');
      return [...others, { feature: 'unknown fields', at: 'start', says: { own: start } }];
    },
  },
  {
    id: 'no-log-probabilities',
    says: 'Messages have no place for log probabilities.',
    holds: messages,
    rewrite: each((fact) => (fact.at === 'logprobs' ? undefined : fact)),
  },
  {
    id: 'token-text',
    says: 'Generate content reports tokens and log probabilities, but not the bytes of a token.',
    holds: generate,
    rewrite: each((fact) =>
      fact.at === 'logprobs' ? saying(fact, { list: plainTokens(fact.says.list ?? []) }) : fact,
    ),
  },
  {
    id: 'zero-or-unknown',
    says: 'Usage that a server did not report is 0 if the dialect demands a number; a count of 0 may be left out.',
    holds: () => true,
    rewrite: each((fact) => (fact.at.startsWith('usage.') && fact.says.value === 0 ? undefined : fact)),
  },
  {
    id: 'usage-on-demand',
    says: 'A chat stream reports usage only if `stream_options.include_usage` asks for it.',
    holds: ({ format, stream, wire }) => format === 'openai' && stream && wire.includeUsage !== true,
    rewrite: each((fact) => (fact.at.startsWith('usage') ? undefined : fact)),
  },
  {
    id: 'cache-writes-untold',
    says: 'Generate content does not report how many tokens were written to a cache.',
    holds: generate,
    rewrite: each((fact) => (fact.at === 'usage.cacheWriteTokens' ? undefined : fact)),
  },
  {
    id: 'error-words',
    says: 'Dialects have fewer words for failures: saturation, rate limits and unavailability may be confused, and so may failures of the gateway and of its upstream. If a prompt is too long, the words that clients of the format look for precede those of the server. What a server says to programs (`error.details` of messages, and `error.code` of chat completions where the gateway has no code of its own) reaches clients of its own format.',
    holds: () => true,
    rewrite: each((fact) => {
      if (fact.at !== 'error' || typeof fact.says.kind !== 'string') return fact;
      return saying(fact, { kind: errorClass[fact.says.kind] ?? fact.says.kind });
    }),
  },
];

const places: Readonly<Record<string, number>> = { reasoning: 0, text: 1, 'tool-call': 2 };

function inPlaces(facts: readonly Fact[]): Fact[] {
  const placed = facts.filter(({ at }) => at in places);
  const rest = facts.filter(({ at }) => !(at in places));
  return [...placed.sort((left, right) => (places[left.at] ?? 0) - (places[right.at] ?? 0)), ...rest];
}

function joinTexts(facts: readonly Fact[]): Fact[] {
  const joined: Fact[] = [];
  for (const fact of facts) {
    const last = joined[joined.length - 1];
    const isText = fact.at === 'text' || fact.at === 'reasoning';
    if (last && isText && last.at === fact.at && isPlain(last) && isPlain(fact)) {
      joined[joined.length - 1] = saying(last, { text: `${last.says.text}${fact.says.text}` });
    } else joined.push(fact);
  }
  return joined;
}

function isPlain({ says }: Fact): boolean {
  return says.own === undefined;
}

function plainTokens(list: Json): Json {
  if (Array.isArray(list)) return list.map(plainTokens);
  if (typeof list !== 'object' || list === null) return list;
  const { bytes: _bytes, token_id: _id, top_logprobs, ...token } = list;
  return { ...token, top_logprobs: Array.isArray(top_logprobs) ? top_logprobs.map(plainTokens) : [] };
}
