import type { FormatId } from '@sluice/canonical';
import type { z } from 'zod';

/** What every format's `document.ts` exports beside its document: the schemas that the golden cases must match. */
export interface DocumentedSchemas {
  /** The body, with all fields that are read. */
  documentedRequest: z.ZodObject;
  /** The single body. */
  documentedResponse: z.ZodType;
  /** What a message of a stream holds. */
  documentedEvent: z.ZodType;
  /** The body of a failure. */
  documentedError: z.ZodType;
}

const exported: Readonly<Record<keyof DocumentedSchemas, true>> = {
  documentedRequest: true,
  documentedResponse: true,
  documentedEvent: true,
  documentedError: true,
};

/**
 * The schemas of the format with this name, which is also its folder's. Rejects if the file or an export is missing.
 */
export async function documentedSchemas(format: FormatId): Promise<DocumentedSchemas> {
  return readSchemas(await import(`./${format}/document.ts`), `${format}/document.ts`);
}

/** The schemas that a module exports. Throws if one is missing. */
export function readSchemas(module: object, file: string): DocumentedSchemas {
  const missing = Object.keys(exported).filter((name) => !(name in module));
  if (missing.length > 0) throw new Error(`${file} exports no ${missing.join(', no ')}`);
  // Safe to cast: the golden tests fail if these are no schemas.
  return module as DocumentedSchemas;
}
