import type { Json } from '@sluice/canonical';

/** Older versions of Node lack it, and TypeScript does not know it yet. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => Json };

/** A number that does not fit into a double can only occur in a text that matches this. */
const perhapsBeyond = /\d{16}|[eE]\+?\d{3}/;

/**
 * Like `JSON.parse`, but large whole numbers are written out again exactly as in the text: many services use ids beyond
 * 2^53, and a rounded id is somebody else's. The reviver costs five times as much, so it runs for few texts only.
 */
export function parseExactly(text: string): unknown {
  return rawJSON && perhapsBeyond.test(text) ? JSON.parse(text, keepExact) : JSON.parse(text);
}

function keepExact(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  const source = context?.source;
  return !rawJSON || source === undefined || source === String(value) ? value : rawJSON(source);
}
