import { collect, type GenerationEvent } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { contextOf, decodeStream, encodeStream, textCall } from './golden-run.ts';
import { formats } from './registry.ts';

const call = (block: number): GenerationEvent[] => [
  { type: 'tool-call-start', block, id: `call_${block}`, name: `f${block}` },
  { type: 'tool-call-delta', block, arguments: '{"a":1}' },
  { type: 'tool-call-end', block },
];
const answer: GenerationEvent[] = [
  { type: 'start', id: 'g', model: 'm', createdAt: 0 },
  ...call(0),
  ...call(1),
  { type: 'finish', reason: 'tool-calls', usage: { inputTokens: 1, outputTokens: 2 } },
];

describe.each(formats.map((format) => [format.client.format, format] as const))(
  'of two calls of a server of %s',
  (name, format) => {
    const { client, server } = format;
    const asked = { ...textCall(name), choices: 1 };
    const heard = (isSingleCall?: true) => {
      const context = { ...contextOf(answer), ...(isSingleCall && { isSingleCall }) };
      const body: unknown = JSON.parse(JSON.stringify(server.encodeResponse([collect(answer)], asked)));
      return [
        decodeStream(client, context, [encodeStream(format, asked, [answer])]),
        client.decodeResponse(body, context),
      ];
    };
    const names = (events: readonly GenerationEvent[]) =>
      events.flatMap((event) => (event.type === 'tool-call-start' ? event.name : []));

    test('a client gets both', () => {
      for (const events of heard()) expect(names(events)).toEqual(['f0', 'f1']);
    });

    test('a client that accepts one gets the first, and an answer that says nothing of its wish', () => {
      for (const events of heard(true)) {
        expect(names(events)).toEqual(['f0']);
        expect(events[0]).not.toHaveProperty('isSingleCall');
        expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'tool-calls' });
      }
    });
  },
);
