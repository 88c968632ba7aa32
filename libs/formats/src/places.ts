import type { InferenceRequest } from '@sluice/canonical';

/*
 * What a server can't take is refused by its name in canonical terms, for the worker knows no other. The ingress that
 * decoded the request still has it, and knows what the client calls the same thing. Beside the request, because nobody
 * else needs it: neither the queue nor the worker.
 */

const places = new WeakMap<object, string>();

/** The thing itself, remembered as one that stands at `path` in its client's request. */
export function placed<Thing extends object>(thing: Thing, path: string): Thing {
  places.set(thing, path);
  return thing;
}

/** A path in canonical terms, such as `messages[1].content[0].content[2].source`. */
const part = /^messages\[(\d+)\]\.content\[(\d+)\](?:\.content\[(\d+)\])?/;

/** Where in its client's request the thing stands that `param` names in canonical terms. Absent where nobody remembered it. */
export function placeOf(param: string, { messages, tools = [] }: InferenceRequest): string | undefined {
  const tool = tools[Number(/^tools\[(\d+)\]$/.exec(param)?.[1])];
  if (tool) return places.get(tool);
  const [, message, index, inner] = part.exec(param) ?? [];
  const found = messages[Number(message)]?.content[Number(index)];
  const within = found?.type === 'tool-result' && inner !== undefined ? found.content[Number(inner)] : found;
  return within && places.get(within);
}
