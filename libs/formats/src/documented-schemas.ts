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

const exported: Readonly<Record<keyof DocumentedSchemas, true>> = {
  documentedRequest: true,
  documentedResponse: true,
  documentedEvent: true,
  documentedError: true,
};

/**
 * Those of the format of this name, which is that of its folder. Rejects where there is no such file, and tells what
 * one does not export.
 */
export async function documentedSchemas(format: FormatId): Promise<DocumentedSchemas> {
  return readSchemas(await import(`./${format}/document.ts`), `${format}/document.ts`);
}

/** The schemas of a module. Throws for one that lacks any of them. */
export function readSchemas(module: object, file: string): DocumentedSchemas {
  const missing = Object.keys(exported).filter((name) => !(name in module));
  if (missing.length > 0) throw new Error(`${file} exports no ${missing.join(', no ')}`);
  // That they are schemas shows in the golden cases.
  return module as DocumentedSchemas;
}
