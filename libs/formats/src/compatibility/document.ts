import { answerRules } from '../matrix/answer-rules.ts';
import { runMatrix } from '../matrix/matrix.ts';
import { type CellOutcome, stateOf } from '../matrix/outcome.ts';
import { refusals } from '../matrix/refusals.ts';
import { requestRules } from '../matrix/request-rules.ts';
import type { Rule } from '../matrix/rule.ts';
import { formats } from '../registry.ts';
import { type FeatureCell, tabulateFeatures } from './feature-table.ts';
import { describeFields } from './field-handling.ts';
import { type FieldSamples, fieldSamples } from './field-samples.ts';

/** In the order in which the OpenAPI document shows them. */
const shown = formats.toReversed();
const dialects = shown.map(({ client }) => client.format);

/** docs/compatibility.md, from a run of the matrix and from trying out every field. */
export async function writeCompatibility(): Promise<string> {
  const cells = [...runMatrix()];
  const titles = await loadTitles();
  return `${[
    ...introduction(cells),
    ...dialects.flatMap((format) => formatSection(format, cells, titles)),
    '## Rules of translation',
    '',
    'Where a cell above names a rule, this is what it does. All else that crosses is equal, which the matrix checks.',
    '',
    ...ruleTable('Of requests', requestRules),
    ...makersModels,
    ...ruleTable('Of answers', answerRules),
    ...refusalTable(titles),
  ].join('\n')}`;
}

/** What people call each dialect, by its name. */
type Titles = Readonly<Record<string, string>>;

async function loadTitles(): Promise<Titles> {
  const titles = shown.map(async ({ server, loadDocument }) => {
    const { title } = await loadDocument();
    return [server.format, title.toLowerCase()] as const;
  });
  return Object.fromEntries(await Promise.all(titles));
}

/** What no case of the matrix shows, since it depends on the model's name; see foreign-client.test.ts. */
const makersModels = [
  '### Of requests for the makers’ own models',
  '',
  'Some models refuse what a client of another format can’t know about and often sends by default. It is kept from them, by',
  'their names. What a client of the server’s own format says is sent as it was said, except for calls without a signature',
  'toward Gemini, which the client repeats from the answers of other models.',
  '',
  '- **Claude**',
  '  - Sampling: beside thinking no `temperature` and `top_k`, and a `top_p` only from 0.95 on; else a `temperature` or a',
  '    `top_p`. From 4.7 on none of the three.',
  '  - Thinking: from 4.7 on a budget of thinking becomes an effort. Before, no budget is asked for after tool results where',
  '    the step before has lost what it thought, nor beside a call that must be made. For 4.6 `xhigh` is `max`. From 4.7 on',
  '    thinking is asked to be shown; Fable and Mythos, which always think, are asked for the least effort.',
  '  - Tools: a conversation with calls but without tools names those that were called, and none may be called again.',
  '  - The schema of an answer closes its objects, and tells in descriptions what Claude can not be held to.',
  '- **Thinking that nobody signed** is not given back to Claude, which takes none. Other models of messages get it with an',
  '  empty signature, unless they refuse that.',
  '- **Gemini**',
  '  - From 3 on the first call of each step carries the signature that it was made with, or',
  '    `skip_thought_signature_validator` where there is none.',
  '  - Effort: Gemini 2.5 is told a budget of thinking within its bounds, Gemini from 3 on no less than it thinks anyway',
  '    (`LOW`, except for some of the small models), and older models nothing of thinking.',
  '  - A penalty of 0 is not said. Up to 2.5 the pictures and files of a result stand after it and not inside of it, and JSON',
  '    beside tools is asked for in words.',
  '- **GPT**',
  '  - `gpt-` up to 4 and chat models get no `reasoning_effort`; `o` and `gpt-` from 5 on get none that they do not know, and',
  '    no `temperature`, `top_p` and penalties. None of them gets `top_k`, nor what another model thought.',
  '  - `gpt-` from 5.4 on calls functions by chat completions only where it does not reason: beside tools its effort is',
  '    `none`.',
  '  - For `o` and `gpt-` from 5 on the engine looks for stop strings itself, for clients of chat completions as well.',
  '- **Any server** gets the names of tools that its API refuses (for their length or their characters) in a form that it',
  '  takes, and the client gets back its own.',
  '- **Any server of chat completions** gets no field about tools where there are none, and an id of a user of more than 64',
  '  characters as its hash. One that calls in parallel though it was told not to is heard with its first call alone.',
  '- **Any server of generate content** gets no tool choice where there are no functions, and no text without characters.',
  '- **A server that refuses** something is asked once more in its own words, and from then on at once:',
  '  - Of chat completions, for clients of every format: `stream_options`, `max_tokens`, `top_k`, `parallel_tool_calls`, and',
  '    thinking in the conversation, which a server may also miss. Thinking is said under both names that servers read,',
  '    `reasoning_content` and `reasoning`: Groq, Cerebras and Mistral refuse one or both, and DeepSeek wants it of every',
  '    answer, even if it is empty.',
  '  - Of chat completions or messages, instructions after the first turn: the user says them at their place. Coding tools of',
  '    messages send some in every request, and some templates, for one those of Qwen from 3.5 on, take none there; vLLM',
  '    then answers 400, llama.cpp and Ollama 500.',
  '  - Likewise: turns that have to alternate are joined, `developer` becomes `system`, text in parts becomes one string',
  '    (DeepSeek), ids of calls become nine characters (Mistral), and for clients of other formats an effort becomes the',
  '    nearest that the server names, or none.',
  '  - Of messages: one that misses the thought before a call (DeepSeek) gets an empty one; one that refuses',
  '    `context_management`, `eager_input_streaming` or how thinking is shown gets nothing of it.',
  '',
];

function introduction(cells: readonly CellOutcome[]): string[] {
  const count = (state: string) => cells.filter((cell) => stateOf(cell) === state).length;
  const cases = new Set(cells.map(({ format, name }) => `${format}/${name}`)).size;
  return [
    '# Compatibility',
    '',
    'What a client of each format can say to a server of each, and what becomes of it. A client speaks one of these formats,',
    'and so does the server behind a pool; any pair works, streaming or not. Generated by `npm run docs` from the golden',
    'cases and the codecs; `npm run matrix` prints every cell.',
    '',
    `${cases} golden cases × ${formats.length} dialects × {stream, single} are ${cells.length} cells: ${count('equal')} equal,`,
    `${count('refused')} refused by a rule with a 400 that names the path, ${count('lossy')} lossy.`,
    '',
    '- **served**: understood by the gateway, and said to a server of the same format as the client said it.',
    '- **translated**: said in the words of the other dialect, equal but for the rules that the cell names.',
    '- **passed through**: kept as it is for a server of the same format, which alone understands it.',
    '- **for its own format**, **dropped, counted**: fields that only the client’s format knows are left out and counted in',
    '  `sluice_extensions_dropped_total`; whole parts and tools are refused.',
    '- **left out by rule**, **ignored**: without effect, by one of the rules below, or because it asks for nothing here.',
    '- **refused**: a 400 that names the path. **–**: no golden case goes this way.',
    '',
    'Of a client’s headers only `anthropic-beta` and a trace go on to a server. Those that name an account do not, some of',
    'which SDKs take as fields (`user_profile_id`, `workspace_id`, `organization`, `project`): the account is the gateway’s.',
    '',
  ];
}

function formatSection(format: string, cells: readonly CellOutcome[], titles: Titles): string[] {
  const samples = fieldSamples.find((candidate) => candidate.format === format);
  return [
    `## Clients of ${titles[format]}`,
    '',
    '### What they ask',
    '',
    ...featureRows(format, cells, 'request', titles),
    '### What they are answered',
    '',
    ...featureRows(format, cells, 'answer', titles),
    ...(samples ? ['### Fields of the body', '', ...fieldRows(samples, titles)] : []),
  ];
}

function header(first: string, titles: Titles): string[] {
  const columns = dialects.map((name) => `${titles[name]} server`);
  return [row([first, ...columns]), row(['---', ...columns.map(() => '---')])];
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function featureRows(
  format: string,
  cells: readonly CellOutcome[],
  way: 'request' | 'answer',
  titles: Titles,
): string[] {
  const table = tabulateFeatures(cells, format, way);
  const rows = [...table].map(([feature, byDialect]) =>
    row([feature, ...dialects.map((dialect) => cellText(byDialect.get(dialect)))]),
  );
  return [...header('Feature', titles), ...rows, ''];
}

function cellText(cell: FeatureCell | undefined): string {
  if (!cell) return '–';
  const refused = cell.refusedBy.map((rule) => `refused (${rule})`);
  if (cell.word === undefined) return refused.join(', ');
  const done = cell.rules.length === 0 ? cell.word : `${cell.word}: ${cell.rules.join(', ')}`;
  return [done, ...refused.map((word) => `some ${word}`)].join('; ');
}

function fieldRows(samples: FieldSamples, titles: Titles): string[] {
  const rows = describeFields(samples).map(({ field, toward }) =>
    row([`\`${field}\``, ...dialects.map((dialect) => toward[dialect] ?? '–')]),
  );
  return [...header('Field', titles), ...rows, ''];
}

function ruleTable(title: string, rules: readonly Rule[]): string[] {
  return [
    `### ${title}`,
    '',
    row(['Rule', 'What it does']),
    row(['---', '---']),
    ...rules.map(({ id, says }) => row([id, says])),
    '',
  ];
}

function refusalTable(titles: Titles): string[] {
  return [
    '### Refused',
    '',
    row(['Rule', 'Server', 'What it can not be told']),
    row(['---', '---', '---']),
    ...refusals.map(({ id, dialect, says }) => row([id, titles[dialect] ?? dialect, says])),
    '',
  ];
}
