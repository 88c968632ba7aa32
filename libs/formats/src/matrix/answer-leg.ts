import type { GenerationEvent } from '@sluice/canonical';
import { collect, findGrammarError, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import type { ClientCall, Format } from '../codec.ts';
import type { GoldenCase } from '../golden-case.ts';
import { callOf, contextOf, decodeStream, encodeStream, formatNamed, textCall } from '../golden-run.ts';
import { answerFacts } from './answer-facts.ts';
import { answerRules } from './answer-rules.ts';
import { argumentsAcross } from './arguments.ts';
import { canonicalText, readArguments } from './fact.ts';
import type { LegOutcome, Mode, RuleUse } from './outcome.ts';
import { applyRules, type Crossing, firstDifference } from './rule.ts';
import type { SeededLoss } from './seeded-loss.ts';

/**
 * The leg of an answer. A server of `dialect` sends it as a stream and as a single body; both are decoded and encoded
 * for the client of the case in this mode. Each must tell the client what the events of the case say.
 */
export function runAnswerLeg(golden: GoldenCase, dialect: string, mode: Mode, loss: SeededLoss): LegOutcome {
  const call = callForMode(golden, mode);
  const own = golden.format === dialect ? dialect : '';
  const features = [
    ...new Set(
      golden.events.flatMap((events) => answerFacts(events, golden.format)).map(({ feature }) => feature),
    ),
  ];
  const used: RuleUse[] = [];
  const said = golden.events.length === 1 ? golden.events : withTotalUsage(golden.events);
  for (const upstream of ['stream', 'single'] as const) {
    const crossing: Crossing = {
      format: golden.format,
      dialect,
      wire: call.wire,
      stream: mode === 'stream',
      isUpstreamStream: upstream === 'stream',
      hasLostCall: golden.events.some((events) => losesCall(events, [dialect, golden.format])),
    };
    const answers = golden.events.map((events) => cross(events, dialect, upstream));
    for (const events of answers) {
      const broken = findGrammarError(events);
      if (broken !== undefined)
        return { state: 'lossy', difference: `the upstream's ${upstream}: ${broken}`, features };
    }
    const heard = tell(golden.format, call, answers.map(loss.onAnswer), mode);
    for (const [choice, events] of said.entries()) {
      const wanted = applyRules(answerRules, answerFacts(events, own), crossing);
      const found = applyRules(
        answerRules,
        heard[choice] === undefined ? [] : answerFacts(heard[choice], own),
        crossing,
      );
      const difference = firstDifference(wanted.facts, found.facts);
      if (difference !== undefined) {
        return {
          state: 'lossy',
          difference: `${upstream} upstream, ${mode} client: ${difference}`,
          features,
        };
      }
      used.push(...wanted.used);
    }
  }
  return { state: 'equal', used, features };
}

/** The call of the case in this mode; its other facts stay. Generate content tells the mode by path and `alt`. */
function callForMode(golden: GoldenCase, mode: Mode): ClientCall {
  const call = callOf(golden);
  const stream = mode === 'stream';
  // A streamed array is one JSON text, so its elements are compared in the form of events.
  const wire = 'sse' in call.wire ? { ...call.wire, sse: true } : call.wire;
  return { ...call, stream, wire };
}

/** The events that a gateway decodes when a server of this dialect encodes these. */
function cross(events: readonly GenerationEvent[], dialect: string, said: Mode): GenerationEvent[] {
  const format = formatNamed(dialect);
  const call = { ...textCall(dialect), choices: 1, wire: { ...textCall(dialect).wire, ...everythingShown } };
  return said === 'stream'
    ? hearStream(format, encodeStream(format, call, [events]), events)
    : (hearBody(format, call, [events])[0] ?? []);
}

/** A server hides nothing from a gateway, which asks for thoughts and usage. */
const everythingShown: JsonObject = { includeThoughts: true, hidesThinking: false, includeUsage: true };

/** What the client decodes of each choice. */
function tell(
  name: string,
  call: ClientCall,
  answers: readonly GenerationEvent[][],
  mode: Mode,
): GenerationEvent[][] {
  const format = formatNamed(name);
  if (mode === 'single') return hearBody(format, call, answers);
  const stream = encodeStream(format, call, answers);
  return answers.map((events, choice) =>
    hearStream(format, onlyChoice(stream, choice, answers.length), events),
  );
}

function hearStream(format: Format, stream: string, events: readonly GenerationEvent[]): GenerationEvent[] {
  return decodeStream(format.client, contextOf(events), [stream]);
}

/** A failure is a body of its own with a status. Otherwise all choices share one body. */
function hearBody(
  format: Format,
  call: ClientCall,
  answers: readonly GenerationEvent[][] | readonly (readonly GenerationEvent[])[],
): GenerationEvent[][] {
  const failure = answers.flat().find((event) => event.type === 'error');
  if (failure?.type === 'error') {
    const { status, headers, body } = format.server.encodeError(failure.error, { requestId: call.requestId });
    const error = format.client.decodeError(status, headers, JSON.parse(JSON.stringify(body)));
    return answers.map(() => [{ type: 'error', error }]);
  }
  const body: Json = JSON.parse(JSON.stringify(format.server.encodeResponse(answers.map(collect), call)));
  return answers.map((events, choice) =>
    format.client.decodeResponse(pickChoice(body, choice, answers.length), contextOf(events)),
  );
}

function losesCall(events: readonly GenerationEvent[], dialects: readonly string[]): boolean {
  if (events.at(-1)?.type === 'error') return false;
  return collect(events).content.some((part) => {
    if (part.type !== 'tool-call' || canonicalText(readArguments(part.arguments)) === '{}') return false;
    return canonicalText(argumentsAcross(part.arguments, dialects)) === '{}';
  });
}

/** The choices of an answer share one usage: the prompt once, the outputs of all. */
function withTotalUsage(answers: readonly (readonly GenerationEvent[])[]): GenerationEvent[][] {
  const ends = answers.flat().filter((event) => event.type === 'finish');
  const sum = (name: 'outputTokens' | 'reasoningTokens') => {
    const counts = ends.map(({ usage }) => usage[name]).filter((count) => count !== undefined);
    return counts.length === 0 ? {} : { [name]: counts.reduce((total, count) => total + count, 0) };
  };
  const total = { ...ends[0]?.usage, ...sum('outputTokens'), ...sum('reasoningTokens') };
  return answers.map((events) =>
    events.map((event) => (event.type === 'finish' ? { ...event, usage: total } : event)),
  );
}

const choiceLists = ['choices', 'candidates'];

/** A body or chunk reduced to one of its choices, which gets the number 0. */
function pickChoice(body: Json, choice: number, count: number): Json {
  if (count === 1 || !isJsonObject(body)) return body;
  const picked = { ...body };
  for (const name of choiceLists) {
    const list = body[name];
    if (!Array.isArray(list)) continue;
    picked[name] = list
      .filter((item): item is JsonObject => isJsonObject(item) && item.index === choice)
      .map((item) => ({ ...item, index: 0 }));
  }
  return picked;
}

function onlyChoice(stream: string, choice: number, count: number): string {
  if (count === 1) return stream;
  return stream
    .split('\n')
    .map((line) =>
      line.startsWith('data: {')
        ? `data: ${JSON.stringify(pickChoice(JSON.parse(line.slice(6)), choice, count))}`
        : line,
    )
    .join('\n');
}
