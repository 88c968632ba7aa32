import { isJsonObject } from '@sluice/canonical';
import { type DocumentedSchemas, documentedSchemas } from '../documented-schemas.ts';
import { formats } from '../registry.ts';

/** How an error looks in each format, by the format's name. */
export type ErrorShapes = ReadonlyMap<string, DocumentedSchemas['documentedError']>;

/** The shapes of all formats, as their documents say them. */
export async function loadErrorShapes(): Promise<ErrorShapes> {
  const names = formats.map(({ server }) => server.format);
  const loaded = names.map(async (name) => [name, (await documentedSchemas(name)).documentedError] as const);
  return new Map(await Promise.all(loaded));
}

/** Whether a body is an error of this format, or of any if the format is absent, that was answered with this status. */
export function isErrorBody(
  shapes: ErrorShapes,
  format: string | undefined,
  body: unknown,
  status: number,
): boolean {
  const allowed = format === undefined ? [...shapes.values()] : [shapes.get(format)];
  return allowed.some((shape) => shape?.safeParse(body).success) && saysStatus(body, status);
}

/** Where an error repeats its status, it must be the true one. */
function saysStatus(body: unknown, status: number): boolean {
  const error = isJsonObject(body) ? body.error : undefined;
  return !isJsonObject(error) || typeof error.code !== 'number' || error.code === status;
}
