import type { FormatId } from '@sluice/canonical';
import type { UpstreamTarget } from './codec.ts';

/** Whether the caller speaks another format than its server, and so cannot know what the server refuses. */
export function isForeign({ clientFormat }: UpstreamTarget, dialect: FormatId): boolean {
  return clientFormat !== undefined && clientFormat !== dialect;
}
