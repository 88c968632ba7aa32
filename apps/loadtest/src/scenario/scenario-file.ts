import { readFile } from 'node:fs/promises';
import { SluiceError } from '@sluice/canonical';
import { parse } from 'yaml';

/** The fields of a YAML or JSON scenario file. Throws `invalid-request`. */
export async function readScenarioFile(path: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new SluiceError('invalid-request', `the scenario ${path} can't be read`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SluiceError('invalid-request', `the scenario ${path} is not a set of fields`);
  }
  return { ...value };
}
