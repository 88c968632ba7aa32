import {
  type AssistantPart,
  assertNever,
  type Extensible,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type MediaPart,
  type Message,
  type ToolResultPart,
} from '@sluice/canonical';
import { type Fact, ownWords, readArguments } from './fact.ts';

type Part = AssistantPart | ToolResultPart;

/**
 * Everything that a request says. `own` is the format whose own fields count, too, for a request that stays in its
 * dialect; '' leaves the own fields of every format out.
 */
export function requestFacts(request: InferenceRequest, own: string): Fact[] {
  const facts: Fact[] = [];
  let isLeading = true;
  for (const message of request.messages) {
    if (message.role !== 'system') isLeading = false;
    const at = message.role === 'system' && !isLeading ? 'later-system' : message.role;
    for (const part of message.content) facts.push(...partFacts(part, at, own));
    facts.push(...ownFacts(message, at, own));
  }
  return [...facts, ...settingFacts(request), ...ownFacts(request, 'request', own)];
}

function ownFacts(thing: Extensible, at: string, own: string): Fact[] {
  const words = ownWords(thing, own);
  return 'own' in words ? [{ feature: 'unknown fields', at, says: words }] : [];
}

const textFeature: Readonly<Record<string, string>> = {
  system: 'system messages',
  'later-system': 'system messages after the first turn',
  user: 'text',
  assistant: 'text',
};

function partFacts(part: Part, at: string, own: string): Fact[] {
  const words = part.type === 'opaque' ? {} : ownWords(part, own);
  switch (part.type) {
    case 'text':
      return [
        { feature: textFeature[at] ?? 'tool results', at, says: { type: 'text', text: part.text, ...words } },
      ];
    case 'reasoning':
      return [
        {
          feature: 'thinking in the conversation',
          at,
          says: { type: 'reasoning', text: part.text, ...words },
        },
      ];
    case 'media':
      return [{ feature: mediaFeature(part, at), at, says: { ...mediaWords(part), ...words } }];
    case 'tool-call': {
      const { id, name } = part;
      const says = { type: 'tool-call', id, name, arguments: readArguments(part.arguments), ...words };
      return [{ feature: 'tool calls in the conversation', at, says }];
    }
    case 'tool-result':
      return resultFacts(part, words, own);
    case 'opaque':
      return [
        {
          feature: 'parts that only one format knows',
          at,
          says: { type: 'opaque', format: part.format, value: part.value },
        },
      ];
    default:
      return assertNever(part);
  }
}

function resultFacts(part: ToolResultPart, words: JsonObject, own: string): Fact[] {
  const { toolCallId: id, toolName, isError = false } = part;
  const says = { type: 'tool-result', id, isError, ...(toolName !== undefined && { toolName }), ...words };
  const head: Fact = { feature: isError ? 'failed tool results' : 'tool results', at: 'tool', says };
  return [head, ...part.content.flatMap((inner) => partFacts(inner, `tool:${id}`, own))];
}

const mediaKinds: readonly [RegExp, string][] = [
  [/^image\//, 'images'],
  [/^audio\//, 'sound'],
  [/^video\//, 'video'],
];
const sourceWord = { base64: 'inline', url: 'by URL', 'file-id': 'by file id' } as const;

function mediaFeature({ mediaType, source }: MediaPart, at: string): string {
  const kind = mediaKinds.find(([pattern]) => pattern.test(mediaType))?.[1] ?? 'documents';
  return `${kind} ${sourceWord[source.type]}${at.startsWith('tool:') ? ' in tool results' : ''}`;
}

function mediaWords({ mediaType, filename, source }: MediaPart): JsonObject {
  return { type: 'media', mediaType, source: { ...source }, ...(filename !== undefined && { filename }) };
}

function settingFacts(request: InferenceRequest): Fact[] {
  const { tools = [], toolChoice, parallelToolCalls, output, reasoning, logprobs, endUser } = request;
  const facts: Fact[] = [];
  const add = (feature: string, at: string, says: JsonObject) => facts.push({ feature, at, says });
  for (const tool of tools) {
    if (tool.type === 'opaque') add("the server's own tools", 'tools', { ...tool });
    else {
      const { name, description, parameters, strict } = tool;
      add('functions', 'tools', {
        name,
        parameters,
        ...(description !== undefined && { description }),
        ...(strict !== undefined && { strict }),
      });
    }
  }
  if (toolChoice) {
    const narrowed = 'allowed' in toolChoice ? ' among some' : '';
    add(`tool choice: ${toolChoice.type}${narrowed}`, 'toolChoice', { ...toolChoice });
  }
  if (parallelToolCalls !== undefined) {
    add(parallelToolCalls ? 'parallel tool calls on' : 'parallel tool calls off', 'parallelToolCalls', {
      value: parallelToolCalls,
    });
  }
  for (const [name, value] of Object.entries(request.sampling)) {
    if (value !== undefined) add(settingName(name), `sampling.${name}`, { value });
  }
  if (output) add(outputFeature(output), 'output', { ...output });
  if (reasoning) add('thinking: wanted', 'reasoning.wanted', { value: true });
  for (const [name, value] of Object.entries(reasoning ?? {})) {
    if (value !== undefined) add(`thinking: ${settingName(name)}`, `reasoning.${name}`, { value });
  }
  if (logprobs) add('log probabilities', 'logprobs', { ...logprobs });
  if (endUser !== undefined) add("the client's user id", 'endUser', { value: endUser });
  return facts;
}

function outputFeature(output: NonNullable<InferenceRequest['output']>): string {
  if (output.type === 'text') return 'answer as text';
  return isJsonObject(output.schema) ? 'answer by JSON schema' : 'answer as JSON';
}

function settingName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** The features at a canonical path that a refusal names: one, or none if the path is unknown. */
export function featuresAt(request: InferenceRequest, param: string, own: string): string[] {
  const [, index, at] = /^messages\[(\d+)\]\.content\[(\d+)\]/.exec(param) ?? [];
  const message = request.messages[Number(index)];
  const part = message?.content[Number(at)];
  if (message && part) {
    const [, inner] = /\.content\[\d+\]\.content\[(\d+)\]/.exec(param) ?? [];
    const said = partFacts(part, message.role, own);
    return [said[inner === undefined ? 0 : 1 + Number(inner)]?.feature].filter((name) => name !== undefined);
  }
  const root = param.replace(/\[\d+\].*/, '');
  const wanted = root === 'tools' ? "the server's own tools" : undefined;
  const found = settingFacts(request).find((fact) => (wanted ? fact.feature === wanted : fact.at === root));
  return found ? [found.feature] : [];
}

/** How many things of a request carry fields of formats other than `format`. Each must be counted as dropped. */
export function countForeign(request: InferenceRequest, format: string): number {
  let count = 0;
  const look = (thing: Extensible) => {
    count += Object.keys(thing.extensions ?? {}).filter((name) => name !== format).length;
  };
  const lookAt = (message: Message) => {
    look(message);
    for (const part of message.content) {
      if (part.type === 'opaque') continue;
      look(part);
      if (part.type !== 'tool-result') continue;
      for (const inner of part.content) if (inner.type !== 'opaque') look(inner);
    }
  };
  look(request);
  for (const message of request.messages) lookAt(message);
  for (const tool of request.tools ?? []) if (tool.type !== 'opaque') look(tool);
  return count;
}
