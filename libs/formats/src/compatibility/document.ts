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
    'What the rules do that the cells above name. Everything else arrives unchanged, as the matrix checks.',
    '',
    ...ruleTable('Of requests', requestRules),
    ...modelRules,
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
const modelRules = [
  '### Of requests, by model and server',
  '',
  'A client of another format cannot know what a model refuses, and often sends it by default. So the following is adapted',
  'to the model, which is known by its name. A client of the server’s own format is passed on unchanged, with two exceptions:',
  'calls without a signature are signed for Gemini, because such a client repeats them from the answers of other models; and',
  'results that a client of generate content has twice, as Gemini CLI has when it resumes a session, are read once.',
  '',
  '- **Claude**',
  '  - Together with thinking: no `temperature` and no `top_k`, and `top_p` only from 0.95 on. Without thinking: only one of',
  '    `temperature` and `top_p`. From 4.7 on: none of the three, and a thinking budget becomes an effort.',
  '  - No thinking budget after tool results if a step before has lost its thinking, nor together with a forced call. Nor',
  '    instead of adaptive thinking, which older models do not know, if the model began to call without a thought.',
  '  - 4.6 gets `max` for `xhigh`. From 4.7 on, thinking is asked to be shown. Fable and Mythos always think, so a client',
  '    that wants no thinking gets the lowest effort.',
  '  - If a conversation has calls but no tools, the called tools are declared, and none may be called again.',
  '  - The schema of an answer closes its objects, and describes in words what Claude cannot enforce. A schema that refers',
  '    back to itself, or whose objects may have fields of any name, is asked for in words altogether.',
  '- **Unsigned thinking** is not sent back to Claude, which refuses it. Other models of messages get it with an empty',
  '  signature, unless they refuse that. Thinking signed by DeepSeek or MiniMax is not sent to Claude either, whatever the',
  '  client’s format.',
  '- **Gemini**',
  '  - From 3 on, the first call of each step carries its signature, or `skip_thought_signature_validator` if it has none.',
  '  - 2.5 gets an effort as a thinking budget within its bounds. From 3 on, a budget becomes a level, and the level is at',
  '    least the lowest that the model knows (`LOW`, or `MINIMAL` for some small models). Older models are not told anything',
  '    about thinking.',
  '  - A penalty of 0 is left out. Up to 2.5, images and files of a tool result follow after it instead of being inside, and',
  '    JSON together with tools is asked for in words.',
  '- **GPT**',
  '  - `gpt-` up to 4 and chat models get no `reasoning_effort`. `o` and `gpt-` from 5 on get only efforts that they know,',
  '    and no `temperature`, `top_p` or penalties. None of them gets `top_k` or the thinking of another model.',
  '  - From 5.4 on, models call functions through chat completions only while they do not reason: with tools, their effort',
  '    is `none`. `gpt-6-astra` always reasons, so it calls none there, and who has tools gets its refusal.',
  '  - Stop strings for `o` and `gpt-` from 5 on are searched by the engine, for clients of chat completions as well.',
  '- **Every server of messages** gets `Error` as the text of a failed result that has none.',
  '- **Every server of messages or generate content** gets an image with the type that its bytes tell.',
  '- **Every server** gets tool names that its API would refuse (because of their length or characters) in a form that it',
  '  accepts; the client sees its own names. A reminder that the user has cleared by speaking again (`clear_at`) reaches',
  '  servers of messages only, and so does an effort that a system turn sets. A tool that is to be searched for first',
  '  (`defer_loading`) reaches others once a result has named it (`tool_reference`), as a tool like any other.',
  '- **Every server of chat completions** is told nothing about tools if there are none, and gets a user id of more than 64',
  '  characters as a hash. Functions get the `properties` and `items` that OpenAI’s API demands where they leave them out,',
  '  and a pattern that it does not read (with `\\p{…}`, for example) is told in the description.',
  '- **Every server of generate content** gets no tool choice if there are no functions, no empty text, and of a seed only',
  '  what fits into 32 bits. A conversation that begins with a call gets a user turn of `…` before it.',
  '',
  'A server that refuses one of the following is asked once more in a way that it accepts, and from then on at once. This',
  'holds for clients of every format:',
  '',
  '- **Chat completions**: `stream_options`, `max_tokens`, `top_k`, `parallel_tool_calls`, and thinking in the conversation,',
  '  whether it is refused or missed. Thinking is sent under both names that servers read, `reasoning_content` and',
  '  `reasoning`. Groq, Cerebras and Mistral refuse one or both; DeepSeek demands it for every answer, even if it is empty.',
  '- **Chat completions and messages**: instructions after the first turn, which become user messages in their place. Coding',
  '  tools of messages send some in every request, and the templates of Qwen from 3.5 on, for example, refuse them: vLLM',
  '  with 400, llama.cpp and Ollama with 500. So do the messages servers of DeepSeek, Qwen, Zhipu and MiniMax,',
  '  and older ones of LM Studio.',
  '- **Chat completions**: turns that have to alternate are joined, `developer` becomes `system`, text in parts becomes one',
  '  string (DeepSeek, Qwen, SambaNova), the missing text beside a call an empty one (Together), and ids of calls get nine',
  '  characters (Mistral) or at most 40 (OpenAI). An answer `OK.` is put between the results of calls and what the user',
  '  adds to them (Mistral), results lose the name of their function (xAI), parallel calls follow one another (Llama 3),',
  '  and answers that say nothing are left out (Moonshot). A choice of one function becomes a call that is required, with',
  '  no other function to choose (LM Studio). A penalty of 0 and a `top_p` of 1, which change nothing, are left out (xAI,',
  '  Text Generation Inference). Calls lose the signatures of another server (`extra_content`, `reasoning_details`), and',
  '  get `skip_thought_signature_validator` where one is missed (Gemini from 3 on).',
  '- **Chat completions, for clients of other formats**: an effort becomes the nearest that the server names, or is left',
  '  out. So are `user` (Mistral), `seed`, `temperature`, `top_p`, the penalties, and `strict` of functions (Cohere;',
  '  Cerebras, where only some have it). A temperature outside of the server’s range becomes the nearest inside (Text',
  '  Generation Inference takes no 0). A call that may not be forced (Zhipu, OpenRouter; DeepSeek and Qwen while they',
  '  think) is left to the model. A schema of the answer that is not taken (DeepSeek, Triton; of a list, OpenAI) is told in',
  '  words, and so are keywords of it that are not read (Cerebras), and the wish for JSON where the prompt has to contain',
  '  it (OpenAI, DeepSeek) or the setting is not taken (OpenAI’s older models), or only with a schema (LM Studio,',
  '  Perplexity). Schemas that name no type get one (Fireworks). A text file that is not taken (OpenAI takes only PDF) is',
  '  said as text.',
  '- **Messages**: a server that misses the thinking before a call (DeepSeek, Moonshot) gets an empty one. One that refuses',
  '  `context_management`, `eager_input_streaming`, the display of thinking or the `cache_control` of tools (Fireworks)',
  '  gets none of them. One that refuses adaptive thinking (Qwen, NVIDIA) gets a budget, and a model that refuses to be told',
  '  not to think (Moonshot) is told nothing. Images and files in results that may hold only text (Ollama’s cloud) follow',
  '  after all results. One that refuses `clear_at` or `output_config` in system turns gets what is to',
  '  be seen of these turns. One that refuses the id of a user (Claude does if it looks like an e-mail',
  '  address) gets a hash of it. One that wants the user to begin (Claude does) gets a user turn of `…` before the greeting',
  '  of the assistant. One that wants the user last (Claude from 4.6 on) gets a user turn of `Continue.` after the answer',
  '  with which a client of another format ends. One that demands JSON Schema 2020-12 (Claude does) gets the schemas of all',
  '  tools in it. A Claude under another name that refuses thinking, an effort, or two settings together is not told what',
  '  it refuses, for clients of other formats. If it refuses only this effort or a budget, it gets the nearest effort or',
  '  thinks as much as it likes. Their forced calls are left to a model that may not be forced (DeepSeek, Moonshot).',
  '- **Generate content**, for clients of other formats: a model that refuses penalties or what it is told about thinking',
  '  is told nothing of it; if it lacks only this level of thinking, it gets the next, and if it takes no budget, a level.',
  '  One that refuses JSON is asked for it in words, and one that refuses a system instruction (Gemma) gets it at the head',
  '  of the conversation. The same holds for an API that is too old to know `thinkingConfig`, `thinkingLevel` or',
  '  `responseJsonSchema`.',
  '',
  'A conversation that goes on at another server or model may hold signatures that this one refuses. It is asked once',
  'more without them, each time, since other conversations hold none: without thinking of messages, and with',
  '`skip_thought_signature_validator` in place of the signatures of Gemini’s calls.',
  '',
  'If a server makes parallel calls although the client accepts only one, only the first call is passed on.',
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
    '- **served**: understood by the gateway, and passed to a server of the same format as the client sent it.',
    '- **translated**: expressed in the other dialect, equal except for the rules that the cell names.',
    '- **passed through**: kept as it is for a server of the same format, which alone understands it.',
    '- **for its own format**, **dropped, counted**: fields that only the client’s format knows are left out and counted in',
    '  `sluice_extensions_dropped_total`; whole parts and tools are refused.',
    '- **left out by rule**, **ignored**: without effect, by one of the rules below, or because it asks for nothing here.',
    '- **refused**: a 400 that names the path. **–**: no golden case covers this.',
    '',
    'Of a client’s headers, only `anthropic-beta` and its trace reach a server. Headers that name an account do not, some of',
    'which SDKs offer as parameters (`user_profile_id`, `workspace_id`, `organization`, `project`): the account is the gateway’s.',
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
    row(['Rule', 'Server', 'What it cannot express']),
    row(['---', '---', '---']),
    ...refusals.map(({ id, dialect, says }) => row([id, titles[dialect] ?? dialect, says])),
    '',
  ];
}
