import type { JsonObject } from '@sluice/canonical';

function operation(
  operationId: string,
  summary: string,
  contentType: string,
  more: JsonObject = {},
): JsonObject {
  return {
    operationId,
    summary,
    tags: ['Operations'],
    security: [],
    responses: { 200: { description: summary, content: { [contentType]: {} } }, ...more },
  };
}

const probe = (operationId: string): JsonObject => ({
  operationId,
  summary: 'Whether a server is there; coding CLIs ask this before their first call',
  tags: ['Operations'],
  security: [],
  responses: { 200: { description: 'A server is there.' } },
});

const notReady: JsonObject = {
  503: { description: 'Not ready, with the reasons.', content: { 'application/json': {} } },
};

/** The paths that belong to no format. */
export const operationPaths: JsonObject = {
  '/livez': { get: operation('isLive', 'Whether the process is alive', 'text/plain') },
  '/readyz': { get: operation('isReady', 'Whether the process takes traffic', 'application/json', notReady) },
  '/openapi.json': { get: operation('getOpenApi', 'This document', 'application/json') },
  '/docs/': { get: operation('getDocs', 'This document as a page', 'text/html') },
  '/': { head: probe('probe') },
  '/api/hello': { head: probe('probeHello') },
};
