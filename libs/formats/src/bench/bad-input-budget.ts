import type { BadInput } from '../corpus/bad-input.ts';
import { createCorpus, standardCorpus } from '../corpus/bad-input.ts';
import { decodeStream, formatNamed } from '../golden-run.ts';

/** The input that takes longest to be refused or decoded. */
export interface Slowest {
  id: string;
  tookMs: number;
}

const context = { id: 'bench', createdAt: 0, model: 'bench' };

/**
 * Decodes every bad input three times and takes its best time, so that a busy machine does not make an input look slow.
 */
export function findSlowest(now: () => number): Slowest {
  let slowest: Slowest = { id: 'none', tookMs: 0 };
  for (const input of createCorpus(standardCorpus)) {
    let tookMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 3; round += 1) {
      const startedAt = now();
      decode(input);
      tookMs = Math.min(tookMs, now() - startedAt);
    }
    if (tookMs > slowest.tookMs) slowest = { id: `${input.format} ${input.id}`, tookMs };
  }
  return slowest;
}

function decode(input: BadInput): void {
  const { client, server } = formatNamed(input.format);
  try {
    if (input.kind === 'request') server.decodeRequest(input.wire);
    else if (input.kind === 'body') client.decodeResponse(input.body, context);
    else if (input.kind === 'stream') decodeStream(client, context, [input.bytes]);
  } catch {
    // Most of them end in a refusal; the tests check what it says.
  }
}
