import type { ErrorInfo, ErrorKind, Json, JsonObject, RateState } from '@sluice/canonical';
import { type RouteDocument, type ServerCodec, serverCodecs } from '@sluice/formats';

/** An example of an error. */
interface Sample extends Omit<ErrorInfo, 'kind'> {
  /** The routes that it can come from; absent means all. */
  on?: 'body' | 'query' | 'generation' | 'model';
}

const samples: Readonly<Record<ErrorKind, readonly Sample[]>> = {
  'invalid-request': [
    { message: 'the body is not valid JSON', detail: 'invalid-json', on: 'body' },
    { message: 'the page size is not a whole number', on: 'query' },
  ],
  unauthenticated: [{ message: 'the api key is not known' }],
  'budget-exhausted': [
    {
      message:
        'token-budget of this tenant is 1000000 tokens per 1d: 997000 are spent or reserved, and the request may need 4096',
      retryAfterMs: 18_000_000,
      retryable: false,
      on: 'generation',
    },
  ],
  'permission-denied': [{ message: 'this key may not use the model sim', on: 'model' }],
  'not-found': [
    { message: 'the model does not exist', detail: 'model-not-found', param: 'model', on: 'model' },
  ],
  // The document has no operations for methods that are not allowed.
  'method-not-allowed': [],
  'too-large': [{ message: 'the request body is too large', on: 'body' }],
  'unsupported-media': [{ message: 'the content type must be application/json', on: 'body' }],
  'rate-limited': [
    {
      message: 'request-rate of this key is used up: 60 requests per 1m',
      retryAfterMs: 7_000,
      on: 'generation',
    },
  ],
  saturated: [
    {
      message: 'pool sim is saturated: 40 generations for 32 slots',
      retryAfterMs: 2_000,
      on: 'generation',
    },
  ],
  // A client that has left reads no answer.
  cancelled: [],
  internal: [{ message: 'internal error' }],
  'upstream-failed': [
    { message: "the upstream refused the gateway's credential", retryable: false, on: 'generation' },
  ],
  unavailable: [
    {
      message: 'the model server is overloaded',
      detail: 'overloaded',
      retryAfterMs: 1_000,
      retryable: false,
      on: 'generation',
    },
    { message: 'the key store does not answer', retryAfterMs: 1_000 },
    // Shown in the place of the one before, where both can be met.
    { message: 'no worker serves pool sim at the moment', retryAfterMs: 2_000, on: 'generation' },
  ],
  'deadline-exceeded': [{ message: 'the deadline of the request has passed', on: 'generation' }],
};
/** All samples in one list, each with its kind. */
const refusals = Object.entries(samples).flatMap(([kind, ofKind]) =>
  // The keys of a Record over ErrorKind are error kinds.
  ofKind.map((sample) => ({ ...sample, kind: kind as ErrorKind })),
);

const reasons: Readonly<Record<number, string>> = {
  400: 'The request is not valid; the error names the field.',
  401: 'No valid credential. Do not retry.',
  402: 'A budget is spent. Retry only if there is a `retry-after`, and not before that many seconds.',
  403: 'The key may not use this model.',
  404: 'No such model.',
  413: 'The body is too large.',
  415: 'The content type is not JSON, or the body is compressed.',
  429: 'A rate limit, or saturation: retry after `retry-after` seconds.',
  500: 'A defect of the gateway.',
  502: 'The model server failed.',
  503: 'No worker, or no Redis, at the moment: retry after `retry-after` seconds.',
  504: 'The deadline passed.',
  529: 'The model server is overloaded, and still was when it was asked again.',
};

const anyRates: readonly RateState[] = [
  { counts: 'requests', max: 60, left: 59, fullAt: 0 },
  { counts: 'tokens', max: 100_000, left: 99_000, fullAt: 0 },
];

/** Names of the headers in which a format tells the caller's rates. */
export function rateHeadersOf(server: ServerCodec): string[] {
  return Object.keys(server.encodeRates(anyRates, 0));
}

const rateHeader: JsonObject = {
  description:
    'The limit, what is left of it, or when all of it is there again: for the rate of the key or that of its ' +
    'tenant, whichever has less left. Absent if neither has such a rate.',
  schema: { type: 'string' },
};

/** Every header that an answer or an error may have. References (`$ref`) point here. */
export const documentedHeaders: JsonObject = {
  'x-request-id': {
    description: 'Id of the request, as logs and support know it.',
    required: true,
    schema: { type: 'string' },
  },
  'request-id': { description: 'The same id.', required: true, schema: { type: 'string' } },
  'x-sluice-queue-wait-ms': {
    description: 'How long the call waited for a worker; absent where it needed none.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-sluice-model': {
    description:
      'The model that answers, percent-encoded, where it is a fallback of the one that was asked for.',
    schema: { type: 'string' },
  },
  'retry-after': {
    description: 'Seconds after which a retry makes sense; more than 60 only with 402.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-should-retry': {
    description: '`false` where a retry cannot help; official SDKs obey it.',
    schema: { type: 'string', enum: ['false'] },
  },
  ...Object.fromEntries(serverCodecs.flatMap(rateHeadersOf).map((name) => [name, rateHeader])),
};

/** References to headers by their names. */
export function headersNamed(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The errors of a route by status. Their bodies and headers come from the codec that writes the real ones. */
export function describeErrors(
  route: RouteDocument,
  { server, title }: { server: ServerCodec; title: string },
  schema: JsonObject,
): Record<string, JsonObject> {
  const responses: Record<string, JsonObject> = {};
  for (const { on, ...error } of refusals.filter((refusal) => isMetOn(route, refusal))) {
    const { status, headers, body } = server.encodeError(error, { requestId: 'c2f1a7' });
    const known = responses[status];
    const rates = error.kind === 'rate-limited' ? rateHeadersOf(server) : [];
    const names = ['x-request-id', 'request-id', ...Object.keys(headers), ...rates];
    const example = { [`${error.kind} (${title})`]: { value: body } };
    responses[status] = {
      description: reasons[status] ?? 'Refused.',
      headers: { ...objectOf(known?.headers), ...headersNamed(names) },
      content: jsonContent(schema, { ...examplesOf(known), ...example }),
    };
  }
  return responses;
}

function isMetOn({ path, query, request, isGeneration }: RouteDocument, { on }: Sample): boolean {
  switch (on) {
    case 'body':
      return request !== undefined;
    case 'query':
      return request === undefined && query !== undefined;
    case 'generation':
      return isGeneration === true;
    case 'model':
      return request !== undefined || path.includes('{model}');
    default:
      return true;
  }
}

/** Merges an error response that formats share: any of their shapes. */
export function shareError(left: JsonObject, right: JsonObject): JsonObject {
  const schema = { anyOf: [...alternativesOf(left), ...alternativesOf(right)] };
  return { ...left, content: jsonContent(schema, { ...examplesOf(left), ...examplesOf(right) }) };
}

/** The schemas that a response of one JSON type allows. */
export function alternativesOf(response: JsonObject): Json[] {
  const { schema } = jsonOf(response);
  const { anyOf } = objectOf(schema);
  return Array.isArray(anyOf) ? anyOf : [objectOf(schema)];
}

function examplesOf(response: JsonObject | undefined): JsonObject {
  return response ? objectOf(jsonOf(response).examples) : {};
}

function jsonOf(response: JsonObject): JsonObject {
  return objectOf(objectOf(response.content)['application/json']);
}

function jsonContent(schema: JsonObject, examples: JsonObject): JsonObject {
  return { 'application/json': { schema, examples } };
}

/** Narrows a value that this file itself has built as an object; absent becomes an empty one. */
function objectOf(value: Json | undefined): JsonObject {
  return (value ?? {}) as JsonObject;
}
