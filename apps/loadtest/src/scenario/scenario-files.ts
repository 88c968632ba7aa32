import { readFile } from 'node:fs/promises';
import { SluiceError } from '@sluice/canonical';
import { parseTrace, type Trace } from '../arrivals/trace.ts';
import type { Scenario } from './scenario.ts';

/** The contents of the files that a scenario names. */
export interface ScenarioFiles {
  /** All keys, including those in the scenario itself. */
  keys: readonly string[];
  /** Lines by the file's name. */
  promptFiles: Record<string, readonly string[]>;
  trace: Trace | undefined;
  expectedText: string | undefined;
}

/** The paths of the files that a scenario names. */
export function pathsOf({ keys, traffic, load, expectText }: Scenario): string[] {
  const trace = load.kind === 'trace' ? load.file : undefined;
  const paths = [keys.file, trace, expectText, ...traffic.map(({ prompt }) => prompt.file)];
  return paths.filter((path) => path !== undefined);
}

/** Reads the files that a scenario names. Throws `invalid-request` if one can't be read or holds nothing to use. */
export async function readScenarioFiles(scenario: Scenario): Promise<ScenarioFiles> {
  const keys = await readKeys(scenario.keys);
  const promptFiles: Record<string, readonly string[]> = {};
  for (const { prompt } of scenario.traffic) {
    // Several entries may share a file.
    if (prompt.file === undefined || promptFiles[prompt.file] !== undefined) continue;
    promptFiles[prompt.file] = lines(await readText(prompt.file));
    if (promptFiles[prompt.file]?.length === 0) {
      throw new SluiceError('invalid-request', `no prompts in ${prompt.file}`);
    }
  }
  const { load, expectText } = scenario;
  return {
    keys,
    promptFiles,
    trace: load.kind === 'trace' ? parseTrace(await readText(load.file), load.speed) : undefined,
    expectedText: expectText === undefined ? undefined : await readText(expectText),
  };
}

async function readKeys({ values, file }: Scenario['keys']): Promise<string[]> {
  const kept = file === undefined ? [] : lines(await readText(file));
  if (file !== undefined && kept.length === 0) throw new SluiceError('invalid-request', `no keys in ${file}`);
  const keys = [...values, ...kept];
  if (keys.includes('')) throw new SluiceError('invalid-request', 'a key is empty');
  // Without the key, which is a secret.
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key)))
    throw new SluiceError('invalid-request', 'a key holds a character that is not allowed in a header');
  return keys;
}

function lines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new SluiceError('invalid-request', `the file ${path} can't be read`, { cause });
  }
}
