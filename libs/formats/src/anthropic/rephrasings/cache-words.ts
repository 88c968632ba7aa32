import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../../json/json-object.ts';

/** How a server names what it does not know of a cache's mark, wherever that stands. */
const namedDetail = /\bcache_control(?:\.\w+)?\.(scope|ttl)\b/;
/** How a server names a mark that it does not know, and which part of the request that is in. */
const namedMark = /\b(system|tools|messages)\b[\w.[\]]*\bcache_control(?![.\w])/;
const parts = ['system', 'tools', 'messages'];

/**
 * Without a detail of where and how long to cache, or without the marks in a part whose marks the server does not know,
 * as Fireworks those of tools. Neither changes an answer.
 */
export function withoutCacheMark(body: JsonObject, refusal: string): JsonObject | undefined {
  const detail = namedDetail.exec(refusal)?.[1];
  if (detail !== undefined) {
    const marked = withMarks(body, parts, (mark) => without(mark, detail));
    const { cache_control: mark } = body;
    const changed = isJsonObject(mark) ? without(mark, detail) : mark;
    return changed === mark ? marked : { ...(marked ?? body), cache_control: objectOf(changed) };
  }
  const part = namedMark.exec(refusal)?.[1];
  return part === undefined ? undefined : withMarks(body, [part], () => undefined);
}

/** Replaces each mark in these parts by what `say` returns; a mark that it returns stays. Absent when all stay. */
function withMarks(
  body: JsonObject,
  names: readonly string[],
  say: (mark: JsonObject) => JsonObject | undefined,
): JsonObject | undefined {
  let hasChanged = false;
  const said = (block: Json): Json => {
    if (!isJsonObject(block)) return block;
    const { cache_control: mark, ...bare } = block;
    const inner = Array.isArray(block.content) ? { content: block.content.map(said) } : {};
    const changed = isJsonObject(mark) ? say(mark) : undefined;
    if (!isJsonObject(mark) || changed === mark) return { ...block, ...inner };
    hasChanged = true;
    return { ...bare, ...inner, ...(changed && { cache_control: changed }) };
  };
  const marked = names.flatMap((name) => {
    const blocks = body[name];
    return Array.isArray(blocks) ? [[name, blocks.map(said)]] : [];
  });
  return hasChanged ? { ...body, ...Object.fromEntries(marked) } : undefined;
}

/** The same object if it does not have the detail. */
function without(mark: JsonObject, detail: string): JsonObject {
  const { [detail]: value, ...rest } = mark;
  return value === undefined ? mark : rest;
}
