import { isJsonObject } from '@sluice/canonical';
import { argumentsAcross } from './arguments.ts';
import type { Fact } from './fact.ts';
import { type Crossing, each, type Rule, saying, toward, without } from './rule.ts';

const toChat = toward('openai');
const toMessages = toward('anthropic');
const toGenerate = toward('gemini');
const crosses = ({ format, dialect }: Crossing) => format !== dialect;

/** How a conversation may read differently at a server of another dialect, in the order of application. */
export const conversationRules: readonly Rule[] = [
  {
    id: 'blank-text',
    says: 'Text without a visible character is left out.',
    holds: () => true,
    rewrite: each((fact) => {
      const { type, text, own } = fact.says;
      const isBlank = (type === 'text' || type === 'reasoning') && !/\S/.test(String(text));
      return isBlank && own === undefined ? undefined : fact;
    }),
  },
  {
    id: 'one-place-each',
    says: 'A chat turn has one place each for thinking, text and calls, so they come in this order.',
    holds: (crossing) => toChat(crossing) && crosses(crossing),
    rewrite: orderTurns,
  },
  {
    id: 'later-system-by-user',
    says: 'A system message after the first turn becomes a user message in its place: messages and generate content take instructions at the head only.',
    holds: (crossing) => toGenerate(crossing) || (toMessages(crossing) && crosses(crossing)),
    rewrite: each((fact) => (fact.at === 'later-system' ? { ...fact, at: 'user' } : fact)),
  },
  {
    id: 'results-first',
    says: 'The results of all calls of a step come first in the turn after it, followed by what the user adds.',
    holds: (crossing) => !toGenerate(crossing) && crosses(crossing),
    rewrite: resultsFirst,
  },
  {
    id: 'failed-result-as-text',
    says: 'Chat completions have no mark for a failed call, so the text of its result begins with `Error: `.',
    holds: toChat,
    rewrite: failuresAsText,
  },
  {
    id: 'result-media-by-user',
    says: 'Chat completions accept no media in a tool result, so they follow in a user message that names the call.',
    holds: toChat,
    rewrite: mediaByUser,
  },
  {
    id: 'arguments-are-objects',
    says: 'Messages and generate content hold the arguments of a call as an object. Text that is not JSON is repaired if its meaning is clear; otherwise it becomes empty.',
    holds: (crossing) => !toChat(crossing),
    rewrite: each((fact, { dialect }) => {
      const { type, arguments: said } = fact.says;
      if (type !== 'tool-call' || typeof said !== 'string') return fact;
      return saying(fact, { arguments: argumentsAcross(said, [dialect]) });
    }),
  },
  {
    id: 'result-text-joined',
    says: 'Generate content holds one text for a tool result, so several are joined by line ends.',
    holds: (crossing) => toGenerate(crossing) && crosses(crossing),
    rewrite: joinResultTexts,
  },
  {
    id: 'result-names',
    says: 'The name of a result’s function is added for generate content and left out for messages.',
    holds: crosses,
    rewrite: each((fact) => (fact.says.type === 'tool-result' ? without(fact, 'toolName') : fact)),
  },
  {
    id: 'call-ids',
    says: 'Messages allow letters, digits, `_` and `-` in the id of a call. Other characters become `_`, consistently, and two different ids never become the same. Calls that share an id get ids of their own.',
    holds: toMessages,
    rewrite: numberCalls,
  },
  {
    id: 'file-names',
    says: 'Chat completions demand a name for a file and have none for an image. Messages name documents only, and generate content names nothing.',
    holds: crosses,
    rewrite: each((fact) => (fact.says.type === 'media' ? without(fact, 'filename') : fact)),
  },
  {
    id: 'media-type-of-references',
    says: 'The media type of a file that is given by URL or id is not always sent; the server knows it.',
    holds: crosses,
    rewrite: each((fact) => {
      const { type, source } = fact.says;
      if (type !== 'media' || !isJsonObject(source) || source.type === 'base64') return fact;
      return saying(fact, { mediaType: 'known to the server' });
    }),
  },
];

/**
 * Replaces ids by the number of their call, in the order of first mention, so that ids which name the same calls are
 * equal.
 */
function numberCalls(facts: readonly Fact[]): Fact[] {
  const numbers = new Map<string, string>();
  const numberOf = (id: string) => {
    const number = numbers.get(id) ?? `call ${numbers.size + 1}`;
    numbers.set(id, number);
    return number;
  };
  return facts.map((fact) => {
    const { type, id } = fact.says;
    if (fact.at.startsWith('tool:')) return { ...fact, at: `tool:${numberOf(fact.at.slice(5))}` };
    const isCall = type === 'tool-call' || type === 'tool-result';
    return isCall && typeof id === 'string' ? saying(fact, { id: numberOf(id) }) : fact;
  });
}

/** Rewrites each run of adjacent facts of one side of the conversation. */
function inRuns(
  facts: readonly Fact[],
  belongs: (fact: Fact) => boolean,
  rewrite: (run: Fact[]) => Fact[],
): Fact[] {
  const all: Fact[] = [];
  let run: Fact[] = [];
  for (const fact of facts) {
    if (belongs(fact)) run.push(fact);
    else {
      all.push(...rewrite(run), fact);
      run = [];
    }
  }
  return [...all, ...rewrite(run)];
}

const chatPlaces: Readonly<Record<string, number>> = { reasoning: 0, text: 1, opaque: 1, 'tool-call': 2 };

function orderTurns(facts: readonly Fact[]): Fact[] {
  const place = ({ says }: Fact) => chatPlaces[String(says.type)] ?? 1;
  return inRuns(
    facts,
    ({ at, says }) => at === 'assistant' && says.type !== undefined,
    (run) => joinThinking(run.sort((left, right) => place(left) - place(right))),
  );
}

function joinThinking(facts: readonly Fact[]): Fact[] {
  const joined: Fact[] = [];
  for (const fact of facts) {
    const last = joined[joined.length - 1];
    if (last?.says.type === 'reasoning' && fact.says.type === 'reasoning') {
      joined[joined.length - 1] = saying(last, { text: `${last.says.text}${fact.says.text}` });
    } else joined.push(fact);
  }
  return joined;
}

function resultsFirst(facts: readonly Fact[]): Fact[] {
  const isResult = ({ at }: Fact) => at === 'tool' || at.startsWith('tool:');
  return inRuns(
    facts,
    (fact) => fact.at === 'user' || isResult(fact),
    (run) => [...run.filter(isResult), ...run.filter((fact) => !isResult(fact))],
  );
}

function failuresAsText(facts: readonly Fact[]): Fact[] {
  const left: Fact[] = [];
  const waiting = new Set<string>();
  for (const fact of facts) {
    const { type, id, isError, text } = fact.says;
    if (type === 'tool-result' && isError === true) {
      left.push(saying(fact, { isError: false }));
      waiting.add(`tool:${id}`);
    } else if (type === 'text' && waiting.delete(fact.at))
      left.push(saying(fact, { text: `Error: ${text}` }));
    else left.push(fact);
  }
  return left;
}

/** Moves the media of a turn's results after all its results; each call's media follow a text that names the call. */
function mediaByUser(facts: readonly Fact[]): Fact[] {
  return inRuns(
    facts,
    ({ at }) => at === 'tool' || at.startsWith('tool:'),
    (run) => {
      const media = run.filter(({ says }) => says.type === 'media');
      const rest = run.filter(({ says }) => says.type !== 'media');
      let last = '';
      const moved = media.flatMap((fact) => {
        const label = `Output of tool call ${fact.at.slice(5)}:`;
        const isNew = label !== last;
        last = label;
        const said: Fact = { feature: 'text', at: 'user', says: { type: 'text', text: label } };
        return isNew ? [said, { ...fact, at: 'user' }] : [{ ...fact, at: 'user' }];
      });
      return [...rest, ...moved];
    },
  );
}

function joinResultTexts(facts: readonly Fact[]): Fact[] {
  const left: Fact[] = [];
  for (const fact of facts) {
    const last = left.findLast(({ at, says }) => at === fact.at && says.type === 'text');
    if (!last || !fact.at.startsWith('tool:') || fact.says.type !== 'text') left.push(fact);
    else left[left.indexOf(last)] = saying(last, { text: `${last.says.text}\n${fact.says.text}` });
  }
  return left;
}
