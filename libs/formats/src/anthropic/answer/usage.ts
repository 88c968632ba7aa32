import {
  extend,
  extensionsOf,
  isJsonObject,
  type Json,
  type JsonObject,
  type Usage,
} from '@sluice/canonical';
import { objectOf } from '../../json/json-object.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { tokenCount } from '../../token-count.ts';
import { FORMAT } from '../wire.ts';

/**
 * The usage of a whole message, with every key that SDKs demand. `input_tokens` excludes what was read from or written
 * to the cache. Clients of this dialect add the counters up, so a count that was not reported is 0.
 */
export function encodeUsage(usage: Usage): JsonObject {
  const counters = encodeCounters(usage);
  return {
    input_tokens: counters.input_tokens ?? 0,
    output_tokens: counters.output_tokens,
    cache_creation_input_tokens: counters.cache_creation_input_tokens,
    cache_read_input_tokens: counters.cache_read_input_tokens,
    cache_creation: {
      ephemeral_5m_input_tokens: counters.cache_creation_input_tokens,
      ephemeral_1h_input_tokens: 0,
    },
    output_tokens_details: counters.output_tokens_details,
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
    ...extensionsOf(usage, FORMAT),
  };
}

/**
 * The cumulative usage at the end of a stream. `input_tokens` may be null: clients then keep the number from the start
 * of the stream.
 */
export function encodeUsageDelta(usage: Usage): JsonObject {
  return { ...encodeCounters(usage), server_tool_use: null, ...extensionsOf(usage, FORMAT) };
}

function encodeCounters(usage: Usage) {
  const read = usage.cacheReadTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens === undefined ? null : Math.max(0, inputTokens - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: outputTokens ?? 0,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
  };
}

const counted = new Set([
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
]);

/**
 * A server's usage with inclusive totals. What the totals do not express is kept as an extension. An input of 0 means
 * not known, since every prompt has tokens: servers that know no better yet start a stream with zeros, and so do all
 * routers of many dialects.
 */
export function decodeUsage(wire: JsonObject): Usage {
  const cacheReadTokens = tokenCount(wire.cache_read_input_tokens);
  const cacheWriteTokens = tokenCount(wire.cache_creation_input_tokens);
  const details = wire.output_tokens_details;
  const reasoningTokens = isJsonObject(details) ? tokenCount(details.thinking_tokens) : undefined;
  const input = tokenCount(wire.input_tokens);
  const inputTokens =
    input === undefined ? undefined : input + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const outputTokens = tokenCount(wire.output_tokens);
  const isCounted = inputTokens !== 0;
  const usage: Usage = {
    ...(inputTokens && { inputTokens }),
    ...(outputTokens !== undefined && (outputTokens > 0 || isCounted) && { outputTokens }),
    // Servers without a cache, ours included, say 0: that is no report.
    ...(cacheReadTokens && { cacheReadTokens }),
    ...(cacheWriteTokens && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
  return { ...usage, ...extend(FORMAT, unsaid(wire, encodeUsage(usage))) };
}

/** The fields that encoding the totals would not bring back. */
function unsaid(wire: JsonObject, said: JsonObject): JsonObject {
  const rest = keptBeside(wire, counted);
  // A stream tells the split at its start only, where it may not be known yet; the total is newer.
  if (splitTotal(rest.cache_creation) !== said.cache_creation_input_tokens) delete rest.cache_creation;
  for (const [name, value] of Object.entries(rest)) {
    if (JSON.stringify(value) === JSON.stringify(said[name])) delete rest[name];
  }
  return rest;
}

function splitTotal(split: Json | undefined): number {
  return Object.values(objectOf(split)).reduce<number>((sum, part) => sum + (tokenCount(part) ?? 0), 0);
}
