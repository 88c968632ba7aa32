import type { InferenceRequest } from '@sluice/canonical';

/*
 * A worker refuses what a server does not accept by its canonical path, since it knows no other. The ingress that
 * decoded the request still holds it, and can tell the client's own path of the same thing. The paths are kept outside
 * of the request because neither the queue nor the worker needs them.
 */

const places = new WeakMap<object, string>();

/** Returns the thing, remembered as one that is at `path` in its client's request. */
export function placed<Thing extends object>(thing: Thing, path: string): Thing {
  places.set(thing, path);
  return thing;
}

/** A canonical path, such as `messages[1].content[0].content[2].source`. */
const part = /^messages\[(\d+)\]\.content\[(\d+)\](?:\.content\[(\d+)\])?/;

/** Where the thing that `param` names in canonical terms is in its client's request. Absent if nobody remembered it. */
export function placeOf(param: string, { messages, tools = [] }: InferenceRequest): string | undefined {
  const tool = tools[Number(/^tools\[(\d+)\]$/.exec(param)?.[1])];
  if (tool) return places.get(tool);
  const [, message, index, inner] = part.exec(param) ?? [];
  const found = messages[Number(message)]?.content[Number(index)];
  const within = found?.type === 'tool-result' && inner !== undefined ? found.content[Number(inner)] : found;
  return within && places.get(within);
}
