import { readFile, writeFile } from 'node:fs/promises';
import { SluiceError } from '@sluice/canonical';
import type { RunResult } from '../measures/result.ts';
import { resultShape } from './result-shape.ts';

/** Reads a result that `writeResult` wrote. Throws `invalid-request` for anything else, and for one that is damaged. */
export async function readResult(path: string): Promise<RunResult> {
  const refusal = (cause: unknown) =>
    new SluiceError('invalid-request', `${path} is not a result of this load test`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw refusal(cause);
  }
  const parsed = resultShape.safeParse(value);
  const issue = parsed.error?.issues[0];
  if (issue) throw refusal(new TypeError(`${issue.path.join('.') || 'all of it'}: ${issue.message}`));
  // It is our own file: reports read nothing but what the check has seen.
  return parsed.data as unknown as RunResult;
}

/** Writes a result as JSON. */
export async function writeResult(path: string, result: RunResult): Promise<void> {
  await writeFile(path, `${JSON.stringify(result, null, 2)}\n`);
}
