import type { FormatId } from '@sluice/canonical';
import type { UpstreamTarget } from './codec.ts';

/**
 * Whether the caller speaks another format than its server, and so cannot know what the server refuses. An absent
 * `clientFormat` means the server's own.
 */
export function isForeign(
  { clientFormat }: Pick<UpstreamTarget, 'clientFormat'>,
  dialect: FormatId,
): boolean {
  return clientFormat !== undefined && clientFormat !== dialect;
}
