import { createHash } from 'node:crypto';
import type { GenerationEvent, InferenceRequest, Message, Tool, ToolChoice } from '@sluice/canonical';
import type { ServerTraits } from '@sluice/formats';

/** A request with names of tools that its server takes. */
export interface FittedNames {
  request: InferenceRequest;
  /** An event with the names that the client gave. Absent: all of them are the same. */
  restore?(event: GenerationEvent): GenerationEvent;
}

/**
 * Replaces the names that a server would refuse the whole request for: a client of another format can't know which.
 * The same name always becomes the same, for the sake of caches, and two different ones never become one.
 */
export function fitToolNames(request: InferenceRequest, { toolName }: ServerTraits): FittedNames {
  const fitted = new Map<string, string>();
  for (const name of namesOf(request)) if (!toolName.test(name)) fitted.set(name, nameFor(name));
  if (fitted.size === 0) return { request };
  const originals = new Map(Array.from(fitted, ([original, name]) => [name, original]));
  return {
    request: renamed(request, (name) => fitted.get(name) ?? name),
    restore(event) {
      const original = event.type === 'tool-call-start' ? originals.get(event.name) : undefined;
      return event.type === 'tool-call-start' && original !== undefined
        ? { ...event, name: original }
        : event;
    },
  };
}

function* namesOf({ tools = [], messages }: InferenceRequest): Iterable<string> {
  for (const tool of tools) if (tool.type === 'function') yield tool.name;
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) if (part.type === 'tool-call') yield part.name;
  }
}

/** With the hash at most 64 characters, which is the least that any server takes. */
const keptLength = 55;

function nameFor(name: string): string {
  const clean = name.replace(/[^\w-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${clean.slice(0, keptLength)}_${hash}`;
}

type Rename = (name: string) => string;

function renamed(request: InferenceRequest, rename: Rename): InferenceRequest {
  const { tools, toolChoice, messages } = request;
  return {
    ...request,
    messages: messages.map((message) => renamedMessage(message, rename)),
    ...(tools && {
      tools: tools.map((tool): Tool => ('name' in tool ? { ...tool, name: rename(tool.name) } : tool)),
    }),
    ...(toolChoice && { toolChoice: renamedChoice(toolChoice, rename) }),
  };
}

function renamedChoice(choice: ToolChoice, rename: Rename): ToolChoice {
  if (choice.type === 'tool') return { ...choice, name: rename(choice.name) };
  return choice.type !== 'none' && choice.allowed
    ? { ...choice, allowed: choice.allowed.map(rename) }
    : choice;
}

function renamedMessage(message: Message, rename: Rename): Message {
  if (message.role === 'assistant') {
    const content = message.content.map((part) =>
      part.type === 'tool-call' ? { ...part, name: rename(part.name) } : part,
    );
    return { ...message, content };
  }
  if (message.role !== 'tool') return message;
  const content = message.content.map((result) =>
    result.toolName === undefined ? result : { ...result, toolName: rename(result.toolName) },
  );
  return { ...message, content };
}
