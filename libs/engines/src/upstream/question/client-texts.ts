import {
  assertNever,
  type Extensible,
  type InferenceRequest,
  isJsonObject,
  type Message,
} from '@sluice/canonical';

type Part = Message['content'][number];

/** The texts of a request, and what a client has named in it. */
export function* textsOf({
  messages,
  tools = [],
  sampling,
  endUser = '',
}: InferenceRequest): Generator<string> {
  for (const { content } of messages) for (const part of content) yield* textsOfPart(part);
  for (const tool of tools) if (tool.type === 'function') yield* [tool.name, tool.description ?? ''];
  yield* sampling.stopSequences ?? [];
  yield endUser;
}

function* textsOfPart(part: Part): Generator<string> {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return yield part.text;
    case 'tool-call':
      return yield* [part.id, part.name, part.arguments];
    case 'tool-result':
      yield* [part.toolCallId, part.toolName ?? ''];
      for (const inner of part.content) yield* textsOfPart(inner);
      return;
    case 'media':
      yield part.filename ?? '';
      if (part.source.type === 'url') yield part.source.url;
      return;
    case 'opaque':
      return yield JSON.stringify(part.value);
    default:
      return assertNever(part);
  }
}

/** The texts and names in what a client may fill with any JSON. */
export function valuesOf(request: InferenceRequest): string[] {
  const { messages, tools = [], output } = request;
  const found: string[] = [];
  addKept(request, found);
  for (const message of messages) {
    addKept(message, found);
    for (const part of message.content) addPart(part, found);
  }
  for (const tool of tools) {
    if (tool.type === 'function') addKept(tool, found);
    addWithin(tool.type === 'function' ? tool.parameters : tool.value, found);
  }
  if (output?.type === 'json') addWithin([output.name, output.description, output.schema], found);
  return found;
}

function addPart(part: Part, found: string[]): void {
  if (part.type === 'opaque') {
    addWithin(part.value, found);
    return;
  }
  addKept(part, found);
  if (part.type === 'tool-result') for (const inner of part.content) addPart(inner, found);
}

/** The name of a kept field is the server's as well as the client's. */
function addKept({ extensions = {} }: Extensible, found: string[]): void {
  for (const fields of Object.values(extensions)) addWithin(Object.values(fields), found);
}

function addWithin(value: unknown, found: string[]): void {
  if (typeof value === 'string') found.push(value);
  else if (Array.isArray(value)) for (const item of value) addWithin(item, found);
  else if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      found.push(name);
      addWithin(inner, found);
    }
  }
}
