import type { Message, ToolMessage, ToolResultPart } from '@sluice/canonical';

/**
 * The conversation with the results of each step in the order of its calls. Clients of other formats tell results by
 * their ids and may add them in the order in which they finish, while a server of this dialect may tell them by name
 * and place. What the user says in between keeps its place. A step stays as it is if a result is of no call of its own.
 */
export function inCallOrder(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = [];
  let step: Message[] = [];
  for (const message of messages) {
    if (message.role === 'assistant' && step.some(({ role }) => role !== 'assistant')) {
      for (const each of orderStep(step)) ordered.push(each);
      step = [];
    }
    step.push(message);
  }
  for (const each of orderStep(step)) ordered.push(each);
  return ordered;
}

/** Orders the messages of one step: what the model says until the user does, and what follows until it speaks again. */
function orderStep(step: readonly Message[]): readonly Message[] {
  const results = step.filter(isTool).flatMap(({ content }) => content);
  if (results.length < 2) return step;
  const places = placesOf(step);
  const placeOf = ({ toolCallId }: ToolResultPart): number => places.get(toolCallId) ?? -1;
  if (results.some((result) => placeOf(result) < 0)) return step;
  const sorted = results.toSorted((one, other) => placeOf(one) - placeOf(other));
  let taken = 0;
  return step.map((message) => {
    if (!isTool(message)) return message;
    const from = taken;
    taken += message.content.length;
    return { ...message, content: sorted.slice(from, taken) };
  });
}

/** The places of a step's calls, by their ids. */
function placesOf(step: readonly Message[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const { role, content } of step) {
    if (role !== 'assistant') continue;
    for (const part of content) if (part.type === 'tool-call') places.set(part.id, places.size);
  }
  return places;
}

function isTool(message: Message): message is ToolMessage {
  return message.role === 'tool';
}
