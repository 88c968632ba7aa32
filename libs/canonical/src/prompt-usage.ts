import type { StartEvent, Usage } from './event.ts';

/** The part of a usage that an engine knows before it answers, in the shape of a start event's fields. */
export function promptUsage({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  extensions,
}: Usage): Pick<StartEvent, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'usageExtensions'> {
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(extensions && { usageExtensions: extensions }),
  };
}

/** The usage that a start event reports. */
export function usageAtStart({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  usageExtensions,
}: StartEvent): Usage {
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(usageExtensions && { extensions: usageExtensions }),
  };
}
