import type { JsonObject } from '@sluice/canonical';

const kinds = ['object', 'value'] as const;
const wish = (kind: (typeof kinds)[number]) => `Answer with one valid JSON ${kind} and nothing else.`;

/** Words that ask a model for JSON of this schema, where no setting can. Without a schema, any JSON object will do. */
export function jsonInstruction(schema: JsonObject | undefined): string {
  const kind = schema === undefined || schema.type === 'object' ? 'object' : 'value';
  const form = schema ? ` It follows this JSON Schema: ${JSON.stringify(schema)}` : '';
  return `${wish(kind)}${form}`;
}

/** Whether a text contains such words. */
export function hasJsonInstruction(text: string): boolean {
  return kinds.some((kind) => text.includes(wish(kind)));
}
