import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '@sluice/canonical';
import type { WireRequest } from '../codec.ts';
import { formatNamed } from '../golden-run.ts';
import type { BadInput } from './bad-input.ts';

/** The folder of inputs that once broke something, one file each. */
const keptFolder = join(import.meta.dirname, '../../corpus');

/** A kept file: `why` says what it broke, and one of the other fields holds the input. */
interface KeptFile {
  why: string;
  format: string;
  /** Without a `path`, it goes to the first path of its format. */
  request?: Partial<WireRequest>;
  body?: Json;
  /** Status of the upstream's answer `body`; 200 if absent. */
  status?: number;
  stream?: string[];
}

/** The inputs that once broke something, in the order of their names. */
export function readKept(): BadInput[] {
  return readdirSync(keptFolder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      // Safe to cast: these are our own files, and the tests run every one of them.
      const file = JSON.parse(readFileSync(join(keptFolder, name), 'utf8')) as KeptFile;
      return toInput(name.replace('.json', ''), file);
    });
}

function toInput(id: string, { format, request, body, status = 200, stream }: KeptFile): BadInput {
  if (request) {
    const path = formatNamed(format).server.routes[0] ?? '';
    const wire = { path, query: {}, headers: {}, requestId: 'corpus', body: undefined, ...request };
    return { id, format, kind: 'request', wire };
  }
  if (stream) {
    return { id, format, kind: 'stream', bytes: new TextEncoder().encode(stream.join('\n')) };
  }
  return { id, format, kind: 'body', status, body: body ?? null };
}
