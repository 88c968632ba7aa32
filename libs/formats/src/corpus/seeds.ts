import type { Json } from '@sluice/canonical';
import type { WireRequest } from '../codec.ts';
import { goldenCases, goldenFormats } from '../golden-case.ts';
import { formatNamed } from '../golden-run.ts';

/** Good inputs that bad ones are made of: requests, single bodies and streams of the golden cases. */
export interface Seeds {
  requests: { format: string; name: string; wire: WireRequest }[];
  bodies: { format: string; name: string; body: Json }[];
  streams: { format: string; name: string; text: string }[];
}

/** All of them, in the order of the golden folders. */
export function readSeeds(): Seeds {
  const seeds: Seeds = { requests: [], bodies: [], streams: [] };
  for (const golden of goldenFormats().flatMap(goldenCases)) {
    const { format, name, wire } = golden;
    if (wire) {
      const path = wire.path || (formatNamed(format).server.routes[0] ?? '');
      seeds.requests.push({ format, name, wire: { ...wire, path } });
    }
    for (const file of ['response.json', 'upstream.json', 'error.json']) {
      const text = golden.read(file);
      if (text !== undefined) seeds.bodies.push({ format, name, body: JSON.parse(text) });
    }
    for (const file of ['stream.txt', 'upstream.txt']) {
      const text = golden.read(file);
      if (text !== undefined) seeds.streams.push({ format, name, text });
    }
  }
  return seeds;
}
