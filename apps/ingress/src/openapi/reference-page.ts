import { type FastifyInstance, fastify } from 'fastify';

/** A file of the page. */
export interface PageFile {
  contentType: string;
  content: Buffer;
}

/** Returns the file at a path below `/docs/`; absent if there is none. */
export type ReferencePage = (path: string) => Promise<PageFile | undefined>;

/**
 * Serves the API document as a page. The library brings every file that the page needs (4 MB), so that the page works
 * without the internet. It is loaded at the first visit, by a small fastify application of its own.
 */
export function createReferencePage(documentUrl: string): ReferencePage {
  let site: Promise<FastifyInstance> | undefined;
  const files = new Map<string, PageFile>();
  return async (path) => {
    const known = files.get(path);
    if (known) return known;
    if (path !== '/docs/' && path !== '/docs/js/scalar.js') return undefined;
    site ??= openSite(documentUrl);
    const { rawPayload, headers } = await (await site).inject({ method: 'GET', url: path });
    const file = { contentType: String(headers['content-type']), content: rawPayload };
    files.set(path, file);
    return file;
  };
}

async function openSite(documentUrl: string): Promise<FastifyInstance> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference');
  const site = fastify();
  await site.register(apiReference, {
    routePrefix: '/docs',
    configuration: {
      url: documentUrl,
      pageTitle: 'Sluice API',
      // The library's default label is `Models`, which would mean language models here.
      modelsSectionLabel: 'Schemas',
      // These features would contact servers other than this one.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
    },
  });
  await site.ready();
  return site;
}
