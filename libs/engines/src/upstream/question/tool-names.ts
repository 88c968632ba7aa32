import { createHash } from 'node:crypto';
import type { GenerationEvent, InferenceRequest, Message, Tool, ToolChoice } from '@sluice/canonical';
import type { ServerTraits } from '@sluice/formats';

/** A request with tool names that its server accepts. */
export interface FittedNames {
  request: InferenceRequest;
  /** Restores the client's names in an event. Absent: no name was changed. */
  restore?(event: GenerationEvent): GenerationEvent;
}

/**
 * Replaces the tool names for which a server would refuse the whole request; a client of another format cannot know
 * which. The same name is always replaced by the same, for the sake of caches, and two names never become one.
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

/** With the hash, names have at most 64 characters: every server accepts that many. */
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
