import { constants } from 'node:fs';
import { access, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SluiceError } from '@sluice/canonical';
import { contentsOf, placeOf } from './file-place.ts';
import type { RunResult } from './measures/result.ts';
import { renderCsv } from './report/csv.ts';
import { renderHtml } from './report/html.ts';
import { writeResult } from './report/result-file.ts';

/** Where results go; absent files are not written. */
export interface Outputs {
  /** Holds the first result alone; the others of a report were read from such files. */
  json?: string | undefined;
  csv?: string | undefined;
  html?: string | undefined;
}

/**
 * Throws `invalid-request` if files can't be written, or would be written over each other or over an input, naming all
 * of them: better before a long run than after it.
 */
export async function checkOutputs(outputs: Outputs, inputs: readonly string[]): Promise<void> {
  const { json, csv, html } = outputs;
  const [nameless] = Object.entries({ json, csv, html }).find(([, path]) => path === '') ?? [];
  if (nameless !== undefined)
    throw new SluiceError('invalid-request', `--${nameless} names no file: it is empty`);
  const paths = [json, csv, html].filter((path) => path !== undefined);
  const places = await Promise.all(paths.map(placeOf));
  if (new Set(places).size < paths.length)
    throw new SluiceError('invalid-request', `two results can't be in one file: ${paths.join(', ')}`);
  const read = new Set(await Promise.all(inputs.map(contentsOf)));
  const problems = await Promise.all(
    paths.map((path, at) =>
      read.has(places[at]) ? `${path} is read: a result would be written over it` : problemOf(path),
    ),
  );
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new SluiceError('invalid-request', found.join('\n'));
}

/** Writes all files that it can. Throws `unavailable` with those that it could not write. */
export async function writeOutputs(results: readonly RunResult[], outputs: Outputs): Promise<void> {
  const { json, csv, html } = outputs;
  const [first] = results;
  const failures = await Promise.all([
    first && failureOf(json, (path) => writeResult(path, first)),
    failureOf(csv, async (path) => writeFile(path, renderCsv(results))),
    failureOf(html, async (path) => writeFile(path, renderHtml(results))),
  ]);
  const found = failures.filter((failure) => failure !== undefined);
  if (found.length > 0) throw new SluiceError('unavailable', found.join('\n'));
}

/** Why this file could not be written, with its name: the error of a full disk does not name the file. */
async function failureOf(
  path: string | undefined,
  write: (path: string) => Promise<void>,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    await write(path);
    return undefined;
  } catch (error) {
    return `${path} is not whole: ${messageOf(error)}`;
  }
}

async function problemOf(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path).catch(unlessAbsent);
    // A path that ends in a slash is one of a folder, there or not.
    if (found?.isDirectory() || path.endsWith('/'))
      return `${path} is a folder: no result can be written to it`;
    // The dot makes sure that it is a folder.
    await access(found ? path : `${dirname(path)}/.`, constants.W_OK);
    return undefined;
  } catch (error) {
    return `${path} can't be written: ${messageOf(error)}`;
  }
}

function unlessAbsent(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
