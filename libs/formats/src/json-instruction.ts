import type { JsonObject } from '@sluice/canonical';

/** Words that ask a model for JSON of this schema, where no setting can. Without a schema, any JSON object will do. */
export function jsonInstruction(schema: JsonObject | undefined): string {
  const kind = schema === undefined || schema.type === 'object' ? 'object' : 'value';
  const form = schema ? ` It follows this JSON Schema: ${JSON.stringify(schema)}` : '';
  return `Answer with one valid JSON ${kind} and nothing else.${form}`;
}
