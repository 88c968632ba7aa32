import type { Json, JsonObject } from '@sluice/canonical';
import {
  credentialSchemes,
  formats,
  type NamedSchema,
  type RouteDocument,
  type ServerCodec,
} from '@sluice/formats';
import {
  alternativesOf,
  describeErrors,
  documentedHeaders,
  headersNamed,
  rateHeadersOf,
  shareError,
} from './error-responses.ts';
import { operationPaths } from './operations.ts';

/** What the operations of one format have in common. */
interface Dialect {
  server: ServerCodec;
  title: string;
  error: JsonObject;
}

/** British, for no comma before the last. */
const enumeration = new Intl.ListFormat('en-GB');

/** Builds the OpenAPI 3.1 document of the whole API from the document of each format. */
export async function createOpenApiDocument(version: string): Promise<JsonObject> {
  const components = new Components();
  const paths: Record<string, JsonObject> = {};
  const tags: Json[] = [];
  const names: string[] = [];
  for (const { server, loadDocument } of formats.toReversed()) {
    const { title, description, error, routes } = await loadDocument();
    tags.push({ name: title, description });
    names.push(title.toLowerCase());
    const dialect = { server, title, error: components.add(error) };
    for (const route of routes) addRoute(paths, route, dialect, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description:
        `An inference gateway that speaks ${enumeration.format(names)}. Every credential is accepted on every ` +
        'route. Fields that a schema does not name are accepted.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      ...tags,
      { name: 'Operations', description: 'Probes and documentation; they need no credential.' },
    ],
    security: Object.keys(credentialSchemes).map((name) => ({ [name]: [] })),
    paths: { ...sorted(paths), ...operationPaths },
    components: {
      schemas: sorted(components.schemas),
      headers: documentedHeaders,
      securitySchemes: credentialSchemes,
    },
  };
}

/** Schemas by name, each once. */
class Components {
  readonly schemas: Record<string, JsonObject> = {};

  /** Adds a schema and returns a reference to it. */
  add({ name, schema }: NamedSchema): JsonObject {
    this.schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/**
 * Adds a route. Formats can share one: the caller's headers decide which answers, so all their answers are documented.
 */
function addRoute(
  paths: Record<string, JsonObject>,
  route: RouteDocument,
  dialect: Dialect,
  components: Components,
): void {
  const path = paths[route.path] ?? {};
  const operation = describeRoute(route, dialect, components);
  const known = path[route.method];
  // An earlier call of this function has put an object there.
  path[route.method] = known === undefined ? operation : share(known as JsonObject, operation);
  paths[route.path] = path;
}

function describeRoute(route: RouteDocument, dialect: Dialect, components: Components): JsonObject {
  const { request, response, stream, isGeneration } = route;
  const ofGeneration = isGeneration
    ? ['x-sluice-queue-wait-ms', 'x-sluice-model', ...rateHeadersOf(dialect.server)]
    : [];
  const answerHeaders = ['x-request-id', 'request-id', ...ofGeneration];
  const content: JsonObject = {
    ...(response && { 'application/json': { schema: components.add(response) } }),
    ...(stream && { [stream.contentType]: { schema: components.add(stream) } }),
  };
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description,
    tags: [dialect.title],
    parameters: parametersOf(route),
    ...(request && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: components.add(request), example: request.example } },
      },
    }),
    responses: {
      200: { description: 'The answer.', headers: headersNamed(answerHeaders), content },
      ...describeErrors(route, dialect, dialect.error),
    },
  };
}

function parametersOf({ path, query = {}, isGeneration }: RouteDocument): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): JsonObject => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const inQuery = Object.entries(query).map(([name, description]): JsonObject => {
    return { name, in: 'query', description, schema: { type: 'string' } };
  });
  const traced: JsonObject = {
    name: 'traceparent',
    in: 'header',
    description:
      'W3C trace context, handed on to the model’s server with `tracestate`. The log of the gateway names its trace.',
    schema: { type: 'string' },
  };
  return [...inPath, ...inQuery, ...(isGeneration ? [traced] : [])];
}

/** What the description of a shared operation adds, once, however many formats share it. */
const sharedShape = ' The shape of the answer is that of the caller’s SDK, told by its headers.';

/** Merges an operation that formats share: all their tags and parameters, and any of their answers. */
function share(left: JsonObject, right: JsonObject): JsonObject {
  const description = String(left.description);
  const names = new Set(listOf(left.parameters).map((parameter) => JSON.stringify(nameOf(parameter))));
  const more = listOf(right.parameters).filter((parameter) => !names.has(JSON.stringify(nameOf(parameter))));
  return {
    ...left,
    description: description.endsWith(sharedShape) ? description : description + sharedShape,
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
  const [ours, theirs] = [left, right] as Record<string, JsonObject>[];
  const shared: JsonObject = { ...theirs, ...ours };
  for (const [status, response] of Object.entries(ours ?? {})) {
    const other = theirs?.[status];
    if (other === undefined) continue;
    if (status !== '200') shared[status] = shareError(response, other);
    else {
      const schema = { anyOf: [...alternativesOf(response), ...alternativesOf(other)] };
      shared[status] = { ...response, content: { 'application/json': { schema } } };
    }
  }
  return shared;
}

function sorted(record: Record<string, JsonObject>): JsonObject {
  return Object.fromEntries(Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1)));
}
