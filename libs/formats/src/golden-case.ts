import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorInfo, GenerationEvent, JsonObject } from '@sluice/canonical';
import type { ClientCall, HttpFacts, WireRequest } from './codec.ts';

/** Where the cases are: `golden/<format>/<case>/`. */
const goldenFolder = join(import.meta.dirname, '../golden');

/** True if the run writes what the code produces instead of comparing it; the diff is then reviewed by hand. */
export const isUpdating = process.env.UPDATE_GOLDEN === '1';

/** `case.json`: what the other files of a case cannot express. */
export interface CaseFacts extends Partial<HttpFacts> {
  requestId?: string;
  operation?: 'generate' | 'count-tokens';
  /** Facts of the decoded call, as far as the case cares. */
  call?: Partial<ClientCall>;
  /** The request is refused with this error. */
  refused?: Partial<ErrorInfo>;
  /** Why the request reads differently after being encoded for a server of the same format. */
  notRepeatable?: string;
  /** Why the answer on the wire says less than the events do. */
  lossy?: string;
}

/** A folder of files that agree with each other. */
export interface GoldenCase {
  format: string;
  name: string;
  facts: CaseFacts;
  wire: WireRequest | undefined;
  /** One list for each choice. */
  events: GenerationEvent[][];
  read(file: string): string | undefined;
  readJson(file: string): unknown;
  /** Returns what the file should hold; an update run writes it first. */
  expected(file: string, actual: string): string;
}

/** The folders of `golden/`, one for each format that has cases. */
export function goldenFormats(): string[] {
  return readdirSync(goldenFolder).sort();
}

/** All cases of a format. Throws if it has none. */
export function goldenCases(format: string): GoldenCase[] {
  const folder = join(goldenFolder, format);
  if (!existsSync(folder))
    throw new TypeError(`${folder} is missing: every format has a case \`text\` there`);
  return readdirSync(folder)
    .sort()
    .map((name) => openCase(format, name));
}

function openCase(format: string, name: string): GoldenCase {
  const folder = join(goldenFolder, format, name);
  const read = (file: string) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : undefined;
  const readJson = (file: string): unknown => {
    const text = read(file);
    return text === undefined ? undefined : JSON.parse(text);
  };
  const expected = (file: string, actual: string) => {
    if (isUpdating) writeFileSync(join(folder, file), actual);
    return read(file) ?? `${file} is missing: run once with UPDATE_GOLDEN=1 and review it`;
  };
  // Safe to cast: the cases are our own files, and everything that they hold is compared.
  const facts = (readJson('case.json') ?? {}) as CaseFacts;
  const body = readJson('request.json');
  return {
    format,
    name,
    facts,
    wire: body === undefined ? undefined : wireRequest(facts, body),
    events: readEvents(read('events.jsonl') ?? ''),
    read,
    readJson,
    expected,
  };
}

function wireRequest(facts: CaseFacts, body: unknown): WireRequest {
  const { path = '', query = {}, headers = {}, requestId = 'golden' } = facts;
  return { path, query, headers, requestId, body };
}

/** Each line is an event. `choice` beside its fields says which of several answers it belongs to; 0 if absent. */
function readEvents(text: string): GenerationEvent[][] {
  const choices: GenerationEvent[][] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const { choice = 0, ...event } = JSON.parse(line) as JsonObject & { choice?: number };
    const events = choices[choice] ?? [];
    // Safe to cast: our own file, which the grammar test checks.
    events.push(event as unknown as GenerationEvent);
    choices[choice] = events;
  }
  return choices;
}

/** The events of one answer, one per line. */
export function writeEvents(events: readonly GenerationEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}
