import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../json-object.ts';

/** How a server names what it does not know of a cache's mark, wherever that stands. */
const named = /\bcache_control(?:\.\w+)?\.(scope|ttl)\b/;

/** Without a detail of where and how long to cache, which changes no answer. */
export function withoutCacheDetail(body: JsonObject, refusal: string): JsonObject | undefined {
  const detail = named.exec(refusal)?.[1];
  if (detail === undefined) return undefined;
  let hasChanged = false;
  const plain = (block: Json): Json => {
    if (!isJsonObject(block)) return block;
    const { cache_control: mark, content } = block;
    const said = Array.isArray(content) ? { ...block, content: content.map(plain) } : block;
    if (!isJsonObject(mark) || mark[detail] === undefined) return said;
    hasChanged = true;
    const { [detail]: _detail, ...rest } = mark;
    return { ...said, cache_control: rest };
  };
  const marked = ['system', 'tools', 'messages'].flatMap((name) => {
    const blocks = body[name];
    return Array.isArray(blocks) ? [[name, blocks.map(plain)]] : [];
  });
  const said = { ...objectOf(plain(body)), ...Object.fromEntries(marked) };
  return hasChanged ? said : undefined;
}
