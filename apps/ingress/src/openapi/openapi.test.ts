import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { formats, serverCodecs } from '@sluice/formats';
import { productVersion } from '@sluice/runtime';
import { fastify } from 'fastify';
import { describe, expect, test } from 'vitest';
import { createOpenApiDocument } from './document.ts';
import { registerDocumentation } from './routes.ts';

const document = await createOpenApiDocument(productVersion());

function pathsOf(api: JsonObject): JsonObject {
  return isJsonObject(api.paths) ? api.paths : {};
}

describe('the OpenAPI document', () => {
  test('is valid', async () => {
    const validator = new Validator();
    // The validator resolves references in what it is given.
    const result = await validator.validate(JSON.parse(JSON.stringify(document)));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  test('is exported as the code makes it: run `npm run docs` after a change', () => {
    const written = readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8');
    expect(written).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  test('holds every route of every format', () => {
    const paths = Object.keys(pathsOf(document));
    for (const path of serverCodecs.flatMap(({ routes, modelRoutes }) => [...routes, ...modelRoutes])) {
      if (path.includes('tunedModels')) continue;
      const prefix = path.replace('*', '{model}');
      expect(
        paths.some((candidate) => candidate.startsWith(prefix)),
        path,
      ).toBe(true);
    }
  });

  test('names every format in its description', async () => {
    for (const { loadDocument } of formats) {
      const { title } = await loadDocument();
      expect(document.info).toMatchObject({ description: expect.stringContaining(title.toLowerCase()) });
    }
  });

  test('gives every operation an id of its own', () => {
    const ids = Object.values(pathsOf(document)).flatMap((path) =>
      Object.values(isJsonObject(path) ? path : {}).map(
        (operation) => isJsonObject(operation) && operation.operationId,
      ),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('tells that a shared path answers in the shape of the caller', () => {
    const list = JSON.stringify(pathsOf(document)['/v1/models']);
    for (const name of ['ChatModelList', 'MessagesModelList', 'GenerateModelList'])
      expect(list).toContain(name);
  });

  test('shows every refusal of a route with its headers and in the shape of its format', () => {
    expect(pathsOf(document)['/v1/messages']).toMatchObject({
      post: {
        responses: {
          401: { headers: { 'x-should-retry': {}, 'request-id': {} } },
          429: {
            headers: { 'retry-after': { $ref: '#/components/headers/retry-after' } },
            content: {
              'application/json': {
                examples: { 'saturated (Messages)': { value: { type: 'error', error: {} } } },
              },
            },
          },
        },
      },
    });
  });

  test('promises refusals only where they can come', () => {
    const statuses = (path: string, method: string) => {
      const operation = pathsOf(document)[path];
      const found = isJsonObject(operation) ? operation[method] : undefined;
      return Object.keys(isJsonObject(found) && isJsonObject(found.responses) ? found.responses : {});
    };
    expect(statuses('/v1/messages/count_tokens', 'post')).not.toContain('429');
    expect(statuses('/v1/models', 'get')).toEqual(['200', '400', '401', '500', '503']);
    expect(statuses('/v1/models/{model}', 'get')).toContain('404');
  });

  test('refers to nothing that is not there', () => {
    const text = JSON.stringify(document);
    const { components } = document;
    for (const [, kind = '', name = ''] of text.matchAll(/#\/components\/(\w+)\/([\w-]+)/g))
      expect(components).toHaveProperty([kind, name]);
    expect(text).not.toContain('#/$defs');
  });
});

describe('the documentation routes', () => {
  test('serve the document', async () => {
    const app = fastify();
    registerDocumentation(app);
    const { statusCode, headers, body } = await app.inject('/openapi.json');
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json']);
    expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(document)));
  });

  test('serve a page and its script, and send nobody elsewhere', async () => {
    const app = fastify();
    registerDocumentation(app);
    expect((await app.inject('/docs')).headers.location).toBe('/docs/');
    const page = await app.inject('/docs/');
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.body).toContain('/openapi.json');
    expect(page.body).not.toMatch(/(?:src|href)="https?:/);
    const script = await app.inject('/docs/js/scalar.js');
    expect(script.headers['content-type']).toContain('javascript');
    expect(script.body.length).toBeGreaterThan(100_000);
    expect((await app.inject('/docs/../package.json')).statusCode).toBe(404);
    expect((await app.inject('/docs/other')).statusCode).toBe(404);
  });
});
