import type { EngineKind } from '../engine.ts';
import { type UpstreamOptions, upstreamOptions } from './options.ts';

/** Another party's model server, reached by HTTP in any dialect that has a codec. */
export const upstream: EngineKind<UpstreamOptions> = {
  kind: 'upstream',
  options: upstreamOptions,
  notes: new URL('./notes.md', import.meta.url),
  async create(options, services) {
    const { createUpstreamEngine } = await import('./engine.ts');
    return createUpstreamEngine(options, services);
  },
};
