import { isJsonObject, type Json } from '@sluice/canonical';
import { type Fact, lineOf } from './fact.ts';
import { type Crossing, each, type Rule, saying, toward, without } from './rule.ts';

const toChat = toward('openai');
const toMessages = toward('anthropic');
const toGenerate = toward('gemini');
const crosses = ({ format, dialect }: Crossing) => format !== dialect;

/** How tools and settings may read differently at a server of another dialect, in the order of application. */
export const settingRules: readonly Rule[] = [
  {
    id: 'strict-untold',
    says: 'Generate content cannot demand that arguments strictly follow a function’s schema.',
    holds: toGenerate,
    rewrite: each((fact) => (fact.at === 'tools' ? without(fact, 'strict') : fact)),
  },
  {
    id: 'schema-type',
    says: 'For servers of messages, a function’s schema always has a type: `object` if none was given.',
    holds: toMessages,
    rewrite: each((fact) => {
      const { parameters } = fact.says;
      if (fact.at !== 'tools' || !isJsonObject(parameters) || parameters.type !== undefined) return fact;
      return saying(fact, { parameters: { type: 'object', ...parameters } });
    }),
  },
  {
    id: 'narrowed-tools',
    says: 'Messages, and many servers of chat completions, cannot limit the choice to some of the tools, so the others are not shown to the model.',
    holds: (crossing) => toMessages(crossing) || (toChat(crossing) && crosses(crossing)),
    rewrite: narrowTools,
  },
  {
    id: 'choice-without-tools',
    says: 'A server of messages gets no tool choice if there are no tools.',
    holds: (crossing) => toMessages(crossing) && crosses(crossing),
    rewrite: (facts) =>
      facts.some(({ at }) => at === 'tools')
        ? [...facts]
        : facts.filter(({ at }) => at !== 'toolChoice' && at !== 'parallelToolCalls'),
  },
  {
    id: 'automatic-choice',
    says: 'That the model decides about tools, in parallel if it likes, is every dialect’s default and not always sent.',
    holds: crosses,
    rewrite: each((fact) => {
      if (fact.at === 'parallelToolCalls' && fact.says.value === true) return undefined;
      return fact.at === 'toolChoice' && fact.says.type === 'auto' && fact.says.allowed === undefined
        ? undefined
        : fact;
    }),
  },
  {
    id: 'one-of-one',
    says: 'A choice that must fall on the only tool left is a choice of that tool.',
    holds: toGenerate,
    rewrite: each((fact) => {
      const { type, allowed } = fact.says;
      const [name, ...others] = Array.isArray(allowed) ? allowed : [];
      if (fact.at !== 'toolChoice' || type !== 'required' || name === undefined) return fact;
      return others.length > 0 ? fact : { ...fact, says: { type: 'tool', name } };
    }),
  },
  {
    id: 'no-choice-no-parallel',
    says: 'If no tool may be called, nothing is said about parallel calls.',
    holds: crosses,
    rewrite: (facts) =>
      facts.some(({ at, says }) => at === 'toolChoice' && says.type === 'none')
        ? facts.filter(({ at }) => at !== 'parallelToolCalls')
        : [...facts],
  },
  {
    id: 'single-call',
    says: 'Generate content cannot be limited to one call, so only the first call of an answer is passed on.',
    holds: toGenerate,
    rewrite: each((fact) =>
      fact.at === 'parallelToolCalls' && fact.says.value === false ? undefined : fact,
    ),
  },
  {
    id: 'seed-untold',
    says: 'Messages have no seed. No server promises the same answer for a seed anyway.',
    holds: toMessages,
    rewrite: each((fact) => (fact.at === 'sampling.seed' ? undefined : fact)),
  },
  {
    id: 'hottest',
    says: 'Messages accept temperatures up to 1; a higher one becomes 1.',
    holds: toMessages,
    rewrite: each((fact) =>
      fact.at === 'sampling.temperature' && Number(fact.says.value) > 1 ? saying(fact, { value: 1 }) : fact,
    ),
  },
  {
    id: 'no-penalty',
    says: 'A penalty of 0 is no penalty and is left out for messages, which refuse any other, and for generate content.',
    holds: ({ format, dialect }) => format !== dialect && dialect !== 'openai',
    rewrite: each((fact) =>
      /^sampling\..*Penalty$/.test(fact.at) && fact.says.value === 0 ? undefined : fact,
    ),
  },
  {
    id: 'limit-needed',
    says: 'Messages demand an output limit. The model’s own is sent if the client has none.',
    holds: toMessages,
    rewrite: (facts) =>
      facts.some(({ at }) => at === 'sampling.maxOutputTokens')
        ? [...facts]
        : insertSetting(facts, {
            feature: 'max output tokens',
            at: 'sampling.maxOutputTokens',
            says: { value: 4096 },
          }),
  },
  {
    id: 'json-by-instruction',
    says: 'Messages have no JSON mode without a schema, so the system text asks for JSON instead.',
    holds: (crossing) => toMessages(crossing) && crosses(crossing),
    rewrite: jsonByInstruction,
  },
  {
    id: 'text-output',
    says: 'That the answer is text is every dialect’s default, and left out for messages.',
    holds: toMessages,
    rewrite: each((fact) => (fact.at === 'output' && fact.says.type === 'text' ? undefined : fact)),
  },
  {
    id: 'schema-names',
    says: 'Name, description and strictness of an answer’s schema are sent to chat completions only, which demand a name.',
    holds: crosses,
    rewrite: each((fact) => (fact.at === 'output' ? without(fact, 'name', 'description', 'strict') : fact)),
  },
  {
    id: 'user-id-untold',
    says: 'Generate content has no field for the client’s user id.',
    holds: toGenerate,
    rewrite: each((fact) => (fact.at === 'endUser' ? undefined : fact)),
  },
  {
    id: 'thinking-as-effort',
    says: 'Chat completions know efforts only. A budget becomes the effort that spends about as much, and nothing is said about showing the thinking.',
    holds: (crossing) => toChat(crossing) && crosses(crossing),
    rewrite: rewriteThinking(({ effort, budget }) => ({ effort: effort ?? effortOf(budget) })),
  },
  {
    id: 'thinking-at-least',
    says: 'Messages know no effort below low. A budget of 0 switches thinking off, so there is nothing to show.',
    holds: (crossing) => toMessages(crossing) && crosses(crossing),
    rewrite: rewriteThinking(({ effort, budget, visible }) =>
      effort === 'none' || budget === 0
        ? { effort: 'none' }
        : { effort: effort === 'minimal' ? 'low' : effort, budget, visible },
    ),
  },
  {
    id: 'thinking-as-level',
    says: 'Hardly a model of generate content knows a level above high. It accepts either a level or a budget. Unless its name tells which, it gets the budget, which is more exact. Thinking is shown unless the client asked not to see it.',
    holds: (crossing) => toGenerate(crossing) && crosses(crossing),
    rewrite: rewriteThinking(({ effort, budget, visible }) => {
      const shown = visible ?? effort !== 'none';
      if (budget === 0) return { effort: 'none', visible: shown };
      if (budget !== undefined) return { budget, visible: shown };
      return { effort: effort === 'xhigh' || effort === 'max' ? 'high' : effort, visible: shown };
    }),
  },
];

const isPiece = ({ at }: Fact) =>
  ['system', 'later-system', 'user', 'assistant', 'tool'].includes(at) || at.startsWith('tool:');

function narrowTools(facts: readonly Fact[]): Fact[] {
  const allowed = facts.find(({ at }) => at === 'toolChoice')?.says.allowed;
  if (!Array.isArray(allowed)) return [...facts];
  return facts
    .filter(({ at, says }) => at !== 'tools' || allowed.includes(says.name ?? null))
    .map((fact) => (fact.at === 'toolChoice' ? without(fact, 'allowed') : fact));
}

function insertSetting(facts: readonly Fact[], fact: Fact): Fact[] {
  const end = facts.findLastIndex(isPiece) + 1;
  return [...facts.slice(0, end), fact, ...facts.slice(end)];
}

function jsonByInstruction(facts: readonly Fact[]): Fact[] {
  const isBare = ({ at, says }: Fact) => at === 'output' && says.type === 'json' && says.schema === undefined;
  if (!facts.some(isBare)) return [...facts];
  const text = 'Answer with one valid JSON object and nothing else.';
  const instruction: Fact = { feature: 'answer as JSON', at: 'system', says: { type: 'text', text } };
  const left = facts.filter((fact) => !isBare(fact));
  const head = left.findLastIndex(({ at }) => at === 'system') + 1;
  return [...left.slice(0, head), instruction, ...left.slice(head)];
}

interface Thinking {
  effort?: Json | undefined;
  budget?: Json | undefined;
  visible?: Json | undefined;
}

/** Rewrites all that is said of thinking as a whole, since one setting may replace another. */
function rewriteThinking(rewrite: (thinking: Thinking) => Thinking): Rule['rewrite'] {
  return (facts) => {
    const read = (at: string) => facts.find((fact) => fact.at === `reasoning.${at}`)?.says.value;
    const rest = facts.filter(({ at }) => !at.startsWith('reasoning.'));
    if (rest.length === facts.length) return rest;
    const before = { effort: read('effort'), budget: read('budgetTokens'), visible: read('visible') };
    const { effort, budget, visible } = rewrite(before);
    const fact = (name: string, value: Json | undefined): Fact[] =>
      value === undefined ? [] : [{ feature: `thinking: ${name}`, at: `reasoning.${name}`, says: { value } }];
    return [...rest, ...fact('effort', effort), ...fact('budgetTokens', budget), ...fact('visible', visible)];
  };
}

function effortOf(budget: Json | undefined): Json | undefined {
  if (typeof budget !== 'number') return undefined;
  if (budget === 0) return 'none';
  if (budget <= 4096) return 'low';
  return budget <= 16_384 ? 'medium' : 'high';
}

/** The facts with the settings sorted: their order carries no meaning. */
export function sortSettings(facts: readonly Fact[]): Fact[] {
  const pieces = facts.filter(isPiece);
  const settings = facts.filter((fact) => !isPiece(fact) && fact.at !== 'tools');
  settings.sort((left, right) => (lineOf(left) < lineOf(right) ? -1 : 1));
  return [...pieces, ...facts.filter(({ at }) => at === 'tools'), ...settings];
}
