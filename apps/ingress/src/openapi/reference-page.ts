import { type FastifyInstance, fastify } from 'fastify';

/** A file of the page. */
export interface PageFile {
  contentType: string;
  content: Buffer;
}

/** Answers for a path below `/docs/`; absent where there is no such file. */
export type ReferencePage = (path: string) => Promise<PageFile | undefined>;

/**
 * The readable form of the document. Its library holds 4 MB and every file that the page needs, so that it
 * works without the internet; it is loaded when somebody first looks, by a small application of its own.
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
      // Its own word is `Models`, which are something else here.
      modelsSectionLabel: 'Schemas',
      // Everything that would ask a server other than this one.
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
