import type { ErrorKind, Json, JsonObject } from '@sluice/canonical';
import {
  type FormatDocument,
  formats,
  type NamedSchema,
  type RouteDocument,
  statusOf,
} from '@sluice/formats';
import { operationPaths } from './operations.ts';

/** The whole API as an OpenAPI 3.1 document, put together from what each format says of itself. */
export async function createOpenApiDocument(version: string): Promise<JsonObject> {
  const documents = await Promise.all(formats.map((format) => format.loadDocument()));
  const components = new Components();
  const paths: Record<string, JsonObject> = {};
  for (const document of documents.toReversed()) {
    const error = components.add(document.error);
    for (const route of document.routes) addRoute(paths, route, document, error, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description:
        'An inference gateway that speaks chat completions, messages and generate content. Every credential is accepted on every route. Fields that a schema does not name are accepted.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      ...documents.toReversed().map(({ title, description }) => ({ name: title, description })),
      { name: 'Operations', description: 'Probes and documentation; they need no credential.' },
    ],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    paths: { ...sorted(paths), ...operationPaths },
    components: { schemas: sorted(components.schemas), securitySchemes },
  };
}

const securitySchemes: JsonObject = {
  bearer: { type: 'http', scheme: 'bearer' },
  xApiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  xGoogApiKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
  xProviderApiKey: { type: 'apiKey', in: 'header', name: 'x-provider-api-key' },
  key: { type: 'apiKey', in: 'query', name: 'key' },
};

/** Schemas by name, each once. */
class Components {
  readonly schemas: Record<string, JsonObject> = {};

  /** Adds a schema and returns a reference to it. */
  add({ name, schema }: NamedSchema): JsonObject {
    this.schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** Formats share paths: the caller's headers decide which of them answers, so the answer is one of theirs. */
function addRoute(
  paths: Record<string, JsonObject>,
  route: RouteDocument,
  { title }: FormatDocument,
  error: JsonObject,
  components: Components,
): void {
  const path = paths[route.path] ?? {};
  const operation = describeRoute(route, title, error, components);
  const known = path[route.method];
  // Written above by this very function, as an object.
  path[route.method] = known === undefined ? operation : share(known as JsonObject, operation);
  paths[route.path] = path;
}

function describeRoute(
  route: RouteDocument,
  title: string,
  error: JsonObject,
  components: Components,
): JsonObject {
  const { request, response, stream } = route;
  const content: JsonObject = {
    ...(response && { 'application/json': { schema: components.add(response) } }),
    ...(stream && { [stream.contentType]: { schema: components.add(stream) } }),
  };
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description,
    tags: [title],
    parameters: parametersOf(route),
    ...(request && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: components.add(request), example: request.example } },
      },
    }),
    responses: {
      200: { description: 'The answer.', headers: answerHeaders, content },
      ...errorResponses(error, request !== undefined),
    },
  };
}

const answerHeaders: JsonObject = {
  'x-request-id': { description: 'Id of the request, in the logs too.', schema: { type: 'string' } },
};

function parametersOf({ path, query = {} }: RouteDocument): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): JsonObject => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const inQuery = Object.entries(query).map(([name, description]): JsonObject => {
    return { name, in: 'query', description, schema: { type: 'string' } };
  });
  return [...inPath, ...inQuery];
}

/** What goes wrong before and during a generation, and what a mere question can meet. */
const always: readonly ErrorKind[] = [
  'unauthenticated',
  'permission-denied',
  'not-found',
  'internal',
  'unavailable',
];
const withBody: readonly ErrorKind[] = [
  'invalid-request',
  'budget-exhausted',
  'too-large',
  'unsupported-media',
  'rate-limited',
  'upstream-failed',
  'deadline-exceeded',
];
const reasons: Readonly<Record<number, string>> = {
  400: 'The request is not valid; the error names the field.',
  401: 'No valid credential. Do not retry.',
  402: 'A budget is spent. Do not retry.',
  403: 'The key may not use this model.',
  404: 'No such model or path.',
  413: 'The body is too large.',
  415: 'The content type is not JSON, or the body is compressed.',
  429: 'A rate limit, or saturation: retry after `retry-after` seconds.',
  500: 'A defect of the gateway.',
  502: 'The model server failed.',
  503: 'No worker, or no Redis, at the moment: retry after `retry-after` seconds.',
  504: 'The deadline passed.',
};

function errorResponses(error: JsonObject, hasBody: boolean): JsonObject {
  const kinds = hasBody ? [...always, ...withBody] : always;
  const statuses = [...new Set(kinds.map((kind) => statusOf[kind]))].sort();
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: reasons[status] ?? 'Refused.', content: { 'application/json': { schema: error } } },
    ]),
  );
}

/** One operation of several formats: all their tags and parameters, and any of their answers. */
function share(left: JsonObject, right: JsonObject): JsonObject {
  const names = new Set(listOf(left.parameters).map((parameter) => JSON.stringify(nameOf(parameter))));
  const more = listOf(right.parameters).filter((parameter) => !names.has(JSON.stringify(nameOf(parameter))));
  return {
    ...left,
    description:
      `${String(left.description)} The shape of the answer is that of the caller’s SDK, told by its headers.`.replace(
        /( The shape of the answer.*)\1$/,
        '$1',
      ),
    tags: [...listOf(left.tags), ...listOf(right.tags)],
    parameters: [...listOf(left.parameters), ...more],
    responses: shareResponses(left.responses, right.responses),
  };
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(parameter: Json): Json {
  const { name = null, in: place = null } = parameter as JsonObject;
  return [name, place];
}

function shareResponses(left: Json | undefined, right: Json | undefined): JsonObject {
  // Both were made by `describeRoute`.
  const [ours, theirs] = [left as JsonObject, right as JsonObject];
  return Object.fromEntries(
    Object.entries(ours).map(([status, response]) => {
      const other = theirs[status];
      if (other === undefined) return [status, response];
      const schema = { anyOf: [...alternativesOf(response), ...alternativesOf(other)] };
      return [status, { ...(response as JsonObject), content: { 'application/json': { schema } } }];
    }),
  );
}

function alternativesOf(response: Json): Json[] {
  // Likewise: a response with one JSON schema.
  const { content } = response as { content: { 'application/json': { schema: JsonObject } } };
  const { schema } = content['application/json'];
  return Array.isArray(schema.anyOf) ? schema.anyOf : [schema];
}

function sorted(record: Record<string, JsonObject>): JsonObject {
  return Object.fromEntries(Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1)));
}
