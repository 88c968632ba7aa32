import type { FormatId } from '@sluice/canonical';
import type { UpstreamTarget } from './codec.ts';
import { isForeign } from './foreign-client.ts';

/** Which model reads a request, and for whom. */
export interface Reader {
  /** The model's name at the server. */
  readonly model: string;
  /** Whether the client speaks another format, so that it cannot know what the model refuses. */
  readonly isForeign: boolean;
}

/** Who reads a request in this dialect. */
export function readerOf(target: UpstreamTarget, dialect: FormatId): Reader {
  return { model: target.model, isForeign: isForeign(target, dialect) };
}
