import {
  type ErrorInfo,
  type ErrorKind,
  type FinishReason,
  type InferenceRequest,
  thinkingWish,
} from '@sluice/canonical';
import { type Directive, parseDirective } from './directive.ts';
import { Effort } from './effort.ts';
import { generateInstance } from './json-instance.ts';
import { goOn } from './prefilled.ts';
import { readPrompt } from './prompt.ts';
import { referenceToken, seedOf } from './reference.ts';
import { cut, type Passage, pieces, type Script } from './script.ts';
import { chooseTools } from './tool-choice.ts';

/** The pace, unless the directive sets one. */
export interface Pace {
  ttftMs: number;
  gapMs: number;
}

const directedTokens = 100;
const demoTokens = 64;
const defaultReasoningTokens = 16;
/** Size of a token of JSON text, in UTF-16 units. */
const jsonTokenSize = 6;

const greeting = words(
  "Hello! I am sim, Sluice's built-in simulated model: no weights, no GPU, and always the same answer to the " +
    'same prompt. Script me with a directive in your message, such as [[sim tokens=200 gap=10ms seed=7]]. ' +
    'Here is some of what I say:',
);
const thanks = words('Thank you, the result of the tool has arrived. Here is what I say to it:');
/** Used if JSON is wanted without a schema. */
const freeSchema = {
  type: 'object',
  properties: { answer: { type: 'string' }, confidence: { type: 'number', minimum: 0, maximum: 1 } },
  required: ['answer', 'confidence'],
};

/**
 * What the model will say to this request: a pure function. Throws `invalid-request` for an order that it cannot
 * follow.
 */
export function compose(request: InferenceRequest, pace: Pace): Script {
  const prompt = readPrompt(request);
  const directive = parseDirective(prompt.text);
  const seed = directive?.seed ?? request.sampling.seed ?? seedOf(prompt.text);
  const tools = chooseTools(request, directive, prompt.endsWithToolResult);
  const effort = new Effort();
  const passages: Passage[] = [
    reasoningPassage(request, directive, seed),
    ...(tools.length > 0
      ? textBeforeCalls(directive, seed)
      : [answerPassage(request, directive, seed, prompt.endsWithToolResult)]),
    ...tools.map((tool, index): Passage => {
      const place = request.messages.length * 64 + index;
      const instance = generateInstance(tool.parameters, seed + index, effort);
      return { type: 'call', id: callId(seed, place), name: tool.name, ...pieces(jsonTokens(instance)) };
    }),
  ];
  return {
    passages: goOn(passages, request).filter((passage) => passage.count > 0),
    finish: directive?.finish ?? ((tools.length > 0 ? 'tool-calls' : 'stop') satisfies FinishReason),
    ttftMs: directive?.ttftMs ?? pace.ttftMs,
    gapMs: directive?.gapMs ?? pace.gapMs,
    burst: directive?.burst ?? 1,
    isStamped: directive?.isStamped ?? false,
    ...(directive?.error && { error: { info: orderedError(directive.error.kind), at: directive.error.at } }),
    ...(directive?.stallAt !== undefined && { stallAt: directive.stallAt }),
  };
}

/** Reasoning is the reference text of the next seed. */
function reasoningPassage(
  request: InferenceRequest,
  directive: Directive | undefined,
  seed: number,
): Passage {
  return {
    type: 'reasoning',
    count: reasoningTokens(request, directive),
    tokenAt: (position) => referenceToken(seed + 1, position),
  };
}

function reasoningTokens({ reasoning }: InferenceRequest, directive: Directive | undefined): number {
  if (directive?.reasoning !== undefined) return directive.reasoning;
  if (!reasoning || thinkingWish(reasoning) === 'declined' || reasoning.visible === false) return 0;
  if (reasoning.effort === undefined && reasoning.budgetTokens === undefined) return 0;
  return Math.min(defaultReasoningTokens, reasoning.budgetTokens ?? defaultReasoningTokens);
}

function textBeforeCalls(directive: Directive | undefined, seed: number): Passage[] {
  return directive?.tokens === undefined ? [] : [referencePassage(directive.tokens, seed)];
}

function answerPassage(
  request: InferenceRequest,
  directive: Directive | undefined,
  seed: number,
  endsWithToolResult: boolean,
): Passage {
  if (request.output?.type === 'json') {
    const instance = generateInstance(request.output.schema ?? freeSchema, seed);
    return { type: 'text', ...pieces(jsonTokens(instance)) };
  }
  if (directive) return referencePassage(directive.tokens ?? directedTokens, seed);
  const preface = endsWithToolResult ? thanks : greeting;
  return {
    type: 'text',
    count: demoTokens,
    tokenAt: (position) => preface[position] ?? referenceToken(seed, position),
  };
}

function referencePassage(count: number, seed: number): Passage {
  return { type: 'text', count, tokenAt: (position) => referenceToken(seed, position) };
}

function jsonTokens(instance: unknown): string[] {
  return cut(JSON.stringify(instance), jsonTokenSize);
}

/** The same call in the same conversation has the same id in every attempt. */
function callId(seed: number, place: number): string {
  return `call_${seedOf(`${seed}/${place}`).toString(16).padStart(8, '0')}${seedOf(`${place}/${seed}`).toString(16).padStart(8, '0')}`;
}

const waits: ReadonlySet<ErrorKind> = new Set(['rate-limited', 'saturated', 'unavailable']);

function orderedError(kind: ErrorKind): ErrorInfo {
  return { kind, message: `the prompt ordered ${kind}`, ...(waits.has(kind) && { retryAfterMs: 1000 }) };
}

function words(text: string): string[] {
  return text.split(' ').map((word, index) => (index === 0 ? word : ` ${word}`));
}
