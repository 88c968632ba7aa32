import { SluiceError } from '@sluice/canonical';
import { formatMs } from '../scenario/duration.ts';

/** One recorded arrival. */
export interface TraceEntry {
  /** Milliseconds since the first arrival of the trace. */
  atMs: number;
  /** Absent: drawn from the traffic's own distribution. */
  promptTokens?: number;
  outputTokens?: number;
}

/** A trace that was read. */
export interface Trace {
  /** In order of arrival. */
  entries: TraceEntry[];
  /** How its columns were understood, so that a wrong guess is seen. */
  meaning: string;
}

const instantColumns: Readonly<Record<string, 1 | 1000>> = {
  at_ms: 1,
  atms: 1,
  at_s: 1000,
  at: 1000,
  seconds: 1000,
};
/** Columns that hold dates, seconds or milliseconds; the first entry decides. */
const guessedColumns = ['timestamp', 'time'];
const promptColumns = ['prompt_tokens', 'contexttokens', 'input_tokens', 'request_tokens'];
const outputColumns = ['output_tokens', 'generatedtokens', 'response_tokens'];
/** Larger numbers are milliseconds: as seconds this is the year 5138, as milliseconds 1973. */
const largestSeconds = 1e11;

/**
 * Reads a comma-separated trace. Without a header each line is an instant; a header names the columns: `at_ms`, `at_s`
 * or `timestamp` (dates, seconds or milliseconds since 1970, or seconds since any start), and optionally
 * `prompt_tokens` and `output_tokens`, or what public traces of inference services call them: `ContextTokens` and
 * `GeneratedTokens`, `Request tokens` and `Response tokens`. `speed` 2 plays it twice as fast.
 */
export function parseTrace(text: string, speed: number): Trace {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const first = cellsOf(lines[0] ?? '');
  const hasHeader = first.some((cell) => /[a-z]/i.test(cell) && Number.isNaN(Date.parse(cell)));
  if (lines.length === (hasHeader ? 1 : 0))
    throw new SluiceError('invalid-request', 'the trace has no arrivals');
  const titles = hasHeader ? first : ['timestamp', 'prompt_tokens', 'output_tokens'].slice(0, first.length);
  const columns = titles.map((title) => title.toLowerCase().replaceAll(' ', '_'));
  const instant = columns.findIndex((name) => name in instantColumns || guessedColumns.includes(name));
  if (instant < 0)
    throw new SluiceError('invalid-request', 'the trace has no column at_ms, at_s or timestamp');
  const prompt = columns.findIndex((name) => promptColumns.includes(name));
  const output = columns.findIndex((name) => outputColumns.includes(name));
  const rows = lines.slice(hasHeader ? 1 : 0).map(cellsOf);
  const unit = unitOf(columns[instant] ?? '', rows[0]?.[instant] ?? '');
  const entries = rows.map((cells, at) => {
    const entry: TraceEntry = { atMs: instantMs(cells[instant] ?? '', unit, at) };
    const promptTokens = count(cells[prompt], at);
    const outputTokens = count(cells[output], at);
    if (promptTokens !== undefined) entry.promptTokens = promptTokens;
    if (outputTokens !== undefined) entry.outputTokens = outputTokens;
    return entry;
  });
  entries.sort((a, b) => a.atMs - b.atMs);
  const origin = entries[0]?.atMs ?? 0;
  for (const entry of entries) entry.atMs = (entry.atMs - origin) / speed;
  const meanings = [
    `${titles[instant]} in ${unitNames[unit]}`,
    ...(prompt < 0 ? [] : [`prompt tokens from ${titles[prompt]}`]),
    ...(output < 0 ? [] : [`output tokens from ${titles[output]}`]),
  ];
  return { entries, meaning: meanings.join(', ') };
}

/** A trace in words, for whoever plays it. */
export function describeTrace({ entries, meaning }: Trace): string {
  return `${entries.length} arrivals in ${formatMs(entries.at(-1)?.atMs ?? 0)}: ${meaning}`;
}

/** Milliseconds of one; a date has none. */
type Unit = 1 | 1000 | 'date';
const unitNames: Readonly<Record<Unit, string>> = { 1: 'milliseconds', 1000: 'seconds', date: 'dates' };

function unitOf(column: string, sample: string): Unit {
  const named = instantColumns[column];
  if (named !== undefined) return named;
  if (sample === '' || Number.isNaN(Number(sample))) return 'date';
  return Number(sample) > largestSeconds ? 1 : 1000;
}

function instantMs(cell: string, unit: Unit, at: number): number {
  const value = unit === 'date' ? Date.parse(cell) : Number(cell) * unit;
  if (cell === '' || !Number.isFinite(value)) {
    throw new SluiceError('invalid-request', `entry ${at + 1} of the trace has no instant`);
  }
  return value;
}

/** Public traces say 0 for a request that failed, which no server takes as a length. */
function count(cell: string | undefined, at: number): number | undefined {
  if (cell === undefined || cell === '') return undefined;
  if (Number.isFinite(Number(cell))) return Math.max(1, Math.round(Number(cell)));
  throw new SluiceError(
    'invalid-request',
    `entry ${at + 1} of the trace has a number of tokens that is none`,
  );
}

/** A cell may be in quotes, and then hold commas. */
function cellsOf(line: string): string[] {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim());
  const cells = `,${line.trim()}`.matchAll(/,\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g);
  return [...cells].map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
}
