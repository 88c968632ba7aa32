import { productVersion } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';
import { httpFacts } from '../http-facts.ts';
import { createOpenApiDocument } from './document.ts';
import { createReferencePage } from './reference-page.ts';

/**
 * Registers `/openapi.json` and the page at `/docs/`. Neither needs a credential; both are built at their first
 * request.
 */
export function registerDocumentation(app: FastifyInstance): void {
  let text: Promise<Buffer> | undefined;
  app.get('/openapi.json', async (_http, reply) => {
    text ??= createOpenApiDocument(productVersion()).then((document) =>
      Buffer.from(JSON.stringify(document)),
    );
    return reply.header('content-type', 'application/json').send(await text);
  });
  const page = createReferencePage('/openapi.json');
  app.get('/docs', (_http, reply) => reply.redirect('/docs/', 301));
  app.get('/docs/*', async (http, reply) => {
    const file = await page(httpFacts(http.raw.url ?? '/', http.headers).path);
    if (!file) return reply.callNotFound();
    return reply
      .header('content-type', file.contentType)
      .header('cache-control', 'max-age=3600')
      .send(file.content);
  });
}
