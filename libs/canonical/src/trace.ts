/** W3C trace context: which span a call belongs to. */
export interface TraceContext {
  traceparent: string;
  /** What tracing systems keep beside it for their own use; absent if they keep nothing. */
  tracestate?: string;
}

const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const tracestate = /^[\x20-\x7e]*[\x21-\x7e]$/;
/** As many characters as the standard wants to be handed on. */
const longestState = 512;

/** The trace id in a W3C `traceparent` header; absent when the header is not a valid one. */
export function traceIdOf(header: unknown): string | undefined {
  return typeof header === 'string' ? traceparent.exec(header)?.[1] : undefined;
}

/**
 * Reads a trace context that somebody else wrote: a caller in its headers, or another version of Sluice in a job. Absent
 * without a valid `traceparent`. Of a `tracestate` that is too long, the entries of the latest systems are kept.
 */
export function readTraceContext(written: {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}): TraceContext | undefined {
  // Safe to cast: only a string has a trace id.
  const parent = written.traceparent as string;
  if (traceIdOf(parent) === undefined) return undefined;
  const state = stateOf(written.tracestate);
  return state === undefined ? { traceparent: parent } : { traceparent: parent, tracestate: state };
}

function stateOf(header: unknown): string | undefined {
  if (typeof header !== 'string') return undefined;
  const end = header.length > longestState ? header.lastIndexOf(',', longestState) : header.length;
  const kept = header.slice(0, Math.max(0, end));
  return tracestate.test(kept) ? kept : undefined;
}
