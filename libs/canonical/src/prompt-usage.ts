import type { StartEvent, Usage } from './event.ts';

/** The part of a usage that an engine knows before it answers, as a start event tells it. */
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

/** What a start event tells, as a usage. */
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
