import { readFile, writeFile } from 'node:fs/promises';
import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import type { RunResult } from '../measures/result.ts';

/** Enough to tell our results from any other JSON. */
const shape = z.looseObject({
  version: z.literal(1),
  name: z.string(),
  metrics: z.record(z.string(), z.looseObject({ count: z.number(), hdr: z.string() })),
  intervals: z.array(z.looseObject({ second: z.number() })),
  client: z.looseObject({ processes: z.array(z.looseObject({})) }),
});

/** Reads a result that `writeResult` wrote. Throws `invalid-request` for anything else. */
export async function readResult(path: string): Promise<RunResult> {
  const refusal = (cause: unknown) =>
    new SluiceError('invalid-request', `${path} is not a result of this load test`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw refusal(cause);
  }
  const parsed = shape.safeParse(value);
  const issue = parsed.error?.issues[0];
  if (issue) throw refusal(new TypeError(`${issue.path.join('.') || 'all of it'}: ${issue.message}`));
  // It is our own file, so the fields that the check above leaves open have this type.
  return parsed.data as unknown as RunResult;
}

/** Writes a result as JSON. */
export async function writeResult(path: string, result: RunResult): Promise<void> {
  await writeFile(path, `${JSON.stringify(result, null, 2)}\n`);
}
