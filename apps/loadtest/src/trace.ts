import { SluiceError } from '@sluice/canonical';

/** One recorded arrival. */
export interface TraceEntry {
  /** Milliseconds since the first arrival of the trace. */
  atMs: number;
  /** Absent means the traffic's own distribution decides. */
  promptTokens?: number;
  outputTokens?: number;
}

const instantColumns: Readonly<Record<string, number>> = {
  at_ms: 1,
  atms: 1,
  at_s: 1000,
  at: 1000,
  seconds: 1000,
};
const dateColumns = ['timestamp', 'time'];
const promptColumns = ['prompt_tokens', 'contexttokens', 'input_tokens'];
const outputColumns = ['output_tokens', 'generatedtokens'];

/**
 * Reads a comma-separated trace. Without a header each line is an instant in seconds; a header names the
 * columns: `at_ms`, `at_s` or `timestamp` (a date), and optionally `prompt_tokens` (or `ContextTokens`) and
 * `output_tokens` (or `GeneratedTokens`), which is how public traces of inference services are published.
 * `speed` 2 plays it twice as fast.
 */
export function parseTrace(text: string, speed: number): TraceEntry[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const first = lines[0]?.split(',').map((cell) => cell.trim().toLowerCase()) ?? [];
  const hasHeader = first.some((cell) => /[a-z]/.test(cell) && Number.isNaN(Date.parse(cell)));
  const columns = hasHeader ? first : ['at_s', 'prompt_tokens', 'output_tokens'];
  const instant = columns.findIndex((name) => name in instantColumns || dateColumns.includes(name));
  if (instant < 0)
    throw new SluiceError('invalid-request', 'the trace has no column at_ms, at_s or timestamp');
  const [prompt, output] = [promptColumns, outputColumns].map((names) =>
    columns.findIndex((c) => names.includes(c)),
  );
  const entries = lines.slice(hasHeader ? 1 : 0).map((line, at) => {
    const cells = line.split(',');
    const entry: TraceEntry = { atMs: instantMs(cells[instant] ?? '', columns[instant] ?? '', at) };
    const promptTokens = count(cells[prompt ?? -1]);
    const outputTokens = count(cells[output ?? -1]);
    if (promptTokens !== undefined) entry.promptTokens = promptTokens;
    if (outputTokens !== undefined) entry.outputTokens = outputTokens;
    return entry;
  });
  if (entries.length === 0) throw new SluiceError('invalid-request', 'the trace has no arrivals');
  entries.sort((a, b) => a.atMs - b.atMs);
  const origin = entries[0]?.atMs ?? 0;
  for (const entry of entries) entry.atMs = (entry.atMs - origin) / speed;
  return entries;
}

function instantMs(cell: string, column: string, at: number): number {
  const scale = instantColumns[column];
  const value = scale === undefined ? Date.parse(cell.trim()) : Number(cell) * scale;
  if (cell.trim() === '' || Number.isNaN(value)) {
    throw new SluiceError('invalid-request', `entry ${at + 1} of the trace has no instant`);
  }
  return value;
}

function count(cell: string | undefined): number | undefined {
  return cell === undefined || cell.trim() === '' || Number.isNaN(Number(cell)) ? undefined : Number(cell);
}
