import type { FormatId } from '@sluice/canonical';
import type { z } from 'zod';

/** What the `document.ts` of every format exports beside its document: what the golden cases have to be like. */
export interface DocumentedSchemas {
  /** The body, with all fields that are read. */
  documentedRequest: z.ZodObject;
  /** The single body. */
  documentedResponse: z.ZodType;
  /** What a `data:` line of a stream holds. */
  documentedEvent: z.ZodType;
  /** The body of a failure. */
  documentedError: z.ZodType;
}

/** Those of the format of this name, which is that of its folder. Rejects where there is no such file. */
export async function documentedSchemas(format: FormatId): Promise<DocumentedSchemas> {
  // A file that exports something else fails every test that asks for it.
  return (await import(`./${format}/document.ts`)) as DocumentedSchemas;
}
