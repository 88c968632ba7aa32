import type { GenerationEvent } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import type { ClientCall } from './codec.ts';
import { serverCodecs } from './registry.ts';

const start: GenerationEvent = { type: 'start', id: '1', model: 'm', createdAt: 0 };
const begun: GenerationEvent[] = [
  { type: 'tool-call-start', block: 0, id: 'c', name: 'lost' },
  { type: 'tool-call-delta', block: 0, arguments: '{"lost":"' },
];
const signed = (format: string): GenerationEvent[] => [
  { type: 'text-delta', block: 0, text: '' },
  { type: 'block-annotation', block: 0, extensions: { [format]: { signature: 'lost', refusal: true } } },
];
const answer: GenerationEvent[] = [
  { type: 'tool-call-start', block: 0, id: 'd', name: 'f' },
  { type: 'tool-call-delta', block: 0, arguments: '{}' },
  { type: 'tool-call-end', block: 0 },
  { type: 'text-delta', block: 1, text: 'said' },
  { type: 'finish', reason: 'stop', usage: {} },
];

describe.each(serverCodecs)('an answer of $format', (codec) => {
  const call: ClientCall = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: {} };
  const encode = (events: readonly GenerationEvent[]): string => {
    const encoder = codec.createStreamEncoder(call);
    return events.map((event) => encoder.push(event, 0)).join('');
  };

  test('that begins anew has nothing of what was not shown before', () => {
    for (const unseen of [begun, signed(codec.format)]) {
      // What is shown of an answer is never followed by another start.
      if (encode([start, ...unseen]) !== encode([start])) continue;
      expect(encode([start, ...unseen, start, ...answer])).toBe(encode([start, ...answer]));
    }
  });
});
