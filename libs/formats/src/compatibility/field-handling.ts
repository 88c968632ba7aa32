import { errorInfoOf, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import type { DecodedRequest } from '../codec.ts';
import { formatNamed, targetOf } from '../golden-run.ts';
import { canonicalText } from '../matrix/fact.ts';
import { formats } from '../registry.ts';
import type { FieldSamples } from './field-samples.ts';

/** What becomes of one field of a request. */
export interface FieldHandling {
  field: string;
  /** Towards a server of each dialect, in the order of the registry. */
  toward: Record<string, string>;
}

/** Tries out each field of a dialect. */
export function describeFields(samples: FieldSamples): FieldHandling[] {
  const before = decode(samples, samples.smallest);
  return Object.entries(samples.fields).map(([field, value]) => {
    const body = put(samples.smallest, field.split('.'), value);
    const toward = Object.fromEntries(
      formats.map(({ client }) => [client.format, handling(samples, before, body, client.format)]),
    );
    return { field, toward };
  });
}

function decode({ format, path }: FieldSamples, body: JsonObject): DecodedRequest {
  return formatNamed(format).server.decodeRequest({ path, query: {}, headers: {}, requestId: 'r', body });
}

function put(body: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  const inner = body[name];
  return { ...body, [name]: rest.length === 0 ? value : put(isJsonObject(inner) ? inner : {}, rest, value) };
}

function handling(samples: FieldSamples, before: DecodedRequest, body: JsonObject, dialect: string): string {
  let after: DecodedRequest;
  try {
    after = decode(samples, body);
  } catch (thrown) {
    return `refused: ${errorInfoOf(thrown).param}`;
  }
  const isServedHere = text(before.call) !== text(after.call);
  const isUnderstood = text(meaning(before)) !== text(meaning(after));
  const { client } = formatNamed(dialect);
  try {
    const target = targetOf('m');
    const [left, right] = [before, after].map(({ request }) => client.encodeRequest(request, target));
    if (text(left?.body) !== text(right?.body)) {
      if (isUnderstood) return dialect === samples.format ? 'served' : 'translated';
      return dialect === samples.format ? 'passed through' : 'translated';
    }
    if (isServedHere) return 'served by the gateway';
    if ((right?.dropped.length ?? 0) > (left?.dropped.length ?? 0)) return 'dropped, counted';
    return isUnderstood ? 'left out by rule' : 'ignored';
  } catch (thrown) {
    return `refused: ${errorInfoOf(thrown).param}`;
  }
}

function text(value: unknown): string {
  return canonicalText(JSON.parse(JSON.stringify(value ?? null)));
}

/** A request without the fields that only its own format knows. */
function meaning({ request }: DecodedRequest): unknown {
  const { extensions: _own, ...rest } = request;
  return rest;
}
