const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace id in a W3C `traceparent` header; absent when the header is not a valid one. */
export function traceIdOf(header: unknown): string | undefined {
  return typeof header === 'string' ? traceparent.exec(header)?.[1] : undefined;
}
