import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** How servers say that they do not accept a field or value. */
const isUnknown = new RegExp(
  [
    'unsupported|unexpected|unknown|unrecogni[sz]ed|incompatible|no endpoints found that support',
    'not (?:support(?:ed)?|permitted|allowed)\\b|only \\S+ is allowed',
  ].join('|'),
  'i',
);

/** Whether a refusal is about a field or value that its server does not accept. */
export function saysUnknown(refusal: string): boolean {
  return isUnknown.test(refusal);
}

/** Without the wish that a stream reports its usage. */
export function withoutStreamOptions(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream_options: options, ...rest } = body;
  return options !== undefined && refusal.includes('stream_options') ? rest : undefined;
}

const refusesStream = new RegExp(
  [
    '\\bverified to stream\\b',
    "\\bnot support stream(?:ing)?\\b|'stream' does not support",
    '\\bstreaming\\b[^.]{0,40}\\bnot (?:currently )?supported\\b',
  ].join('|'),
  'i',
);
const isOfJson = /\bresponse_format\b|\bjson|\bstructured output/i;
const isOfTools = /\btools?\b/i;

/** Asks for a whole answer, which is all that a refusal of the stream leaves. */
export function withoutStream(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream, stream_options: _options, ...whole } = body;
  if (stream !== true || !refusesStream.test(refusal)) return undefined;
  if (isOfJson.test(refusal)) return body.response_format === undefined ? undefined : whole;
  return isOfTools.test(refusal) && body.tools === undefined ? undefined : whole;
}

/** With the output limit under its newer name. */
export function withNewerLimit(body: JsonObject, refusal: string): JsonObject | undefined {
  const { max_tokens: limit, ...rest } = body;
  if (limit === undefined || !refusal.includes('max_completion_tokens')) return undefined;
  return { ...rest, max_completion_tokens: limit };
}

/** Without this field. */
export function withoutWord(body: JsonObject, word: string, refusal: string): JsonObject | undefined {
  const { [word]: refused, ...known } = body;
  return refused !== undefined && refusal.includes(word) && saysUnknown(refusal) ? known : undefined;
}

/** How a refusal names the one way to force a call that it is about: any function, or a certain one. */
const refusedForce = /\btool_choice\W{1,4}(required|specified)\b/i;

/** Zhipu's refusal of either. */
const wantsFreeChoice = /\btool[ _]choice must be auto\b/i;

/** With a call left to the model that was forced to it. */
export function withFreeChoice(body: JsonObject, refusal: string): JsonObject | undefined {
  const { tool_choice: choice, ...rest } = body;
  const isForced = choice !== undefined && choice !== 'auto' && choice !== 'none';
  if (isForced && wantsFreeChoice.test(refusal)) return rest;
  if (!isForced || !/\btool_choice\b/.test(refusal) || !saysUnknown(refusal)) return undefined;
  const way = choice === 'required' ? 'required' : 'specified';
  const refused = refusedForce.exec(refusal)?.[1]?.toLowerCase() ?? way;
  return refused === way ? rest : undefined;
}

const refusesNamed = /\btool_choice type\W+object\b/i;

/** With the chosen function as the only one, for a server that takes no choice of a certain one, as LM Studio. */
export function withSoleFunction(body: JsonObject, refusal: string): JsonObject | undefined {
  const { tool_choice: choice, tools } = body;
  if (!isJsonObject(choice) || !Array.isArray(tools) || !refusesNamed.test(refusal)) return undefined;
  const chosen = tools.filter((tool) => nameOf(tool) !== undefined && nameOf(tool) === nameOf(choice));
  return chosen.length === 0 ? undefined : { ...body, tools: chosen, tool_choice: 'required' };
}

function nameOf(tool: Json): Json | undefined {
  return isJsonObject(tool) && isJsonObject(tool.function) ? tool.function.name : undefined;
}

/**
 * How refusals name a setting: quoted, before or after a colon, after an arrow on a line of its own (NIM), and in camel
 * case (xAI). `user` is also a role.
 */
function named(setting: string): RegExp {
  const name = setting.replace('_', '_?');
  return new RegExp(
    `(?:^|(?<!\\brole )["'\`]|body\\.|body -> |: |parameter |invalid )${name}(?:["'\`:\n]|\\.?$)`,
    'i',
  );
}

const dispensable = ['user', 'seed', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty'].map(
  (setting) => ({ setting, isNamed: named(setting) }),
);
const namesStop = named('stop');

/** How Zhipu says that it takes one stop string only, and Text Generation Inference, that it takes less than it got. */
const takesFewStops = /最大只能有1个停止词|`stop` supports up to \d+ stop/;

/** Whether a server says that it takes no stop strings, as xAI's models that reason do, or not as many. */
export function refusesStops(refusal: string): boolean {
  return takesFewStops.test(refusal) || (namesStop.test(refusal) && saysUnknown(refusal));
}

/** The values with which these settings change nothing. */
const idleValues = new Map([
  ['presence_penalty', 0],
  ['frequency_penalty', 0],
  ['top_p', 1],
]);
/** Text Generation Inference refuses the value. */
const refusesWholeTop = /\btop_p\W{1,3}must be > 0(?:\.0)? and < 1\b/;

/** Without a setting whose value changes nothing. */
export function withoutIdleSetting(body: JsonObject, refusal: string): JsonObject | undefined {
  const isIdle = (setting: string) => idleValues.has(setting) && body[setting] === idleValues.get(setting);
  if (isIdle('top_p') && refusesWholeTop.test(refusal)) {
    const { top_p: _whole, ...others } = body;
    return others;
  }
  return withoutSetting(
    body,
    refusal,
    dispensable.filter(({ setting }) => isIdle(setting)),
  );
}

/** Text Generation Inference refuses a temperature of 0, and many APIs one above 1. */
const wantsPositive = /\btemperature\b.{0,40}\bstrictly positive\b/i;
const mostTemperature =
  /\btemperature\b.{0,40}\b(?:less than or equal to|between 0(?:\.0)? and) (\d+(?:\.\d+)?)/i;

/** With the temperature nearest to the one that was refused. */
export function withKnownTemperature(body: JsonObject, refusal: string): JsonObject | undefined {
  const { temperature } = body;
  if (typeof temperature !== 'number') return undefined;
  if (temperature === 0) return wantsPositive.test(refusal) ? { ...body, temperature: 0.01 } : undefined;
  const most = Number(mostTemperature.exec(refusal)?.[1]);
  return temperature > most ? { ...body, temperature: most } : undefined;
}

/** Without a setting that an answer can do without. */
export function withoutSetting(
  body: JsonObject,
  refusal: string,
  settings = dispensable,
): JsonObject | undefined {
  const refused = settings.find(
    ({ setting, isNamed }) => body[setting] !== undefined && isNamed.test(refusal),
  );
  if (!refused || !saysUnknown(refusal)) return undefined;
  const { [refused.setting]: _refused, ...accepted } = body;
  return accepted;
}
