import type { Json, MediaPart, Message } from '@sluice/canonical';
import { mediaResolutions, wordOf } from '../enum-numbers.ts';
import { keptOn, nestedIn } from '../kept.ts';

/**
 * Marks the media that shall cost few tokens, by their own resolution or else by that of the whole request. The words
 * for it stay where they are.
 */
export function markLowDetail(messages: readonly Message[], ofRequest: Json | undefined): void {
  const isLowByDefault = isLow(ofRequest);
  for (const { content } of messages) {
    for (const part of content) {
      if (part.type === 'media') mark(part, isLowByDefault);
      if (part.type !== 'tool-result') continue;
      for (const inner of part.content) if (inner.type === 'media') mark(inner, isLowByDefault);
    }
  }
}

function mark(part: MediaPart, isLowByDefault: boolean): void {
  const { level } = nestedIn(keptOn(part), 'mediaResolution');
  if (isUnsaid(level) ? isLowByDefault : isLow(level)) part.detail = 'low';
}

function isLow(resolution: Json | undefined): boolean {
  return wordOf(resolution, mediaResolutions) === 'MEDIA_RESOLUTION_LOW';
}

function isUnsaid(level: Json | undefined): boolean {
  return level === undefined || wordOf(level, mediaResolutions) === 'MEDIA_RESOLUTION_UNSPECIFIED';
}
