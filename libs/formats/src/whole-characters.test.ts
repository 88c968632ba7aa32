import { collect, findGrammarError, type GenerationEvent, type Json } from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeStream, encodeStream, formatNamed, textCall } from './golden-run.ts';
import { formats } from './registry.ts';

const context = { id: '1', createdAt: 0, model: 'm' };
const start: GenerationEvent = { type: 'start', ...context };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const names = formats.map(({ client }) => client.format);

const textBlock = (block: number, ...texts: string[]): GenerationEvent[] =>
  texts.map((text) => ({ type: 'text-delta', block, text }));
const thoughtBlock = (block: number, ...texts: string[]): GenerationEvent[] =>
  texts.map((text) => ({ type: 'reasoning-delta', block, text }));
const callBlock = (block: number, ...texts: string[]): GenerationEvent[] => [
  { type: 'tool-call-start', block, id: `call_${block}`, name: 'f' },
  ...texts.map((text): GenerationEvent => ({ type: 'tool-call-delta', block, arguments: text })),
  { type: 'tool-call-end', block },
];

/** What a gateway reads when a server of this dialect sends these events, delta by delta. */
function hear(dialect: string, ...events: GenerationEvent[]): GenerationEvent[] {
  const format = formatNamed(dialect);
  const shown = { includeThoughts: true, hidesThinking: false };
  const call = { ...textCall(dialect), choices: 1, wire: { ...textCall(dialect).wire, ...shown } };
  const stream = encodeStream(format, call, [[start, ...events]]);
  const heard = decodeStream(format.client, context, [stream]);
  expect(findGrammarError(heard)).toBeUndefined();
  return heard;
}

function textsOf(events: readonly GenerationEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') return event.text;
    return event.type === 'tool-call-delta' ? event.arguments : [];
  });
}

describe.each(names)('a server of %s that splits a character', (dialect) => {
  test('is read with the character in one piece', () => {
    const heard = hear(dialect, ...textBlock(0, 'c\ud83d', '\ude00', '\ud83d', '\ude00d'), finish);
    expect(textsOf(heard)).toEqual(['c', '😀', '', '😀d']);
  });

  test('is read with U+FFFD for a half that stays alone, wherever its text ends', () => {
    const heard = hear(dialect, ...textBlock(0, '\ude00b\ud83dc\ud83d'), finish);
    expect(textsOf(heard).join('|')).toBe('\ufffdb\ufffdc|\ufffd');
    expect(heard.at(-1)?.type).toBe('finish');
  });

  test('is never passed on with half a character in any client format', () => {
    const block = fc.constantFrom(textBlock, thoughtBlock);
    const texts = fc.array(fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', 'x', '"', 'ß') }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(block, texts), { maxLength: 4 }), (blocks) => {
        const heard = hear(
          dialect,
          ...blocks.flatMap(([make, said], number) => make(number, ...said)),
          finish,
        );
        for (const format of formats) {
          const call = { ...textCall(format.server.format), choices: 1 };
          expect(encodeStream(format, call, [heard])).not.toMatch(/\\ud[89a-f]/);
          expect(JSON.stringify(format.server.encodeResponse([collect(heard)], call))).not.toMatch(
            /\\ud[89a-f]/,
          );
        }
      }),
    );
  });
});

const thinking = names.filter(
  (dialect) => textsOf(hear(dialect, ...thoughtBlock(0, 'a'), finish)).length > 0,
);

describe.each(thinking)('a thought of a server of %s', (dialect) => {
  test('is read with the character in one piece', () => {
    const heard = hear(dialect, ...thoughtBlock(0, 'a\ud83d', '\ude00b'), ...textBlock(1, 'c'), finish);
    expect(textsOf(heard)).toEqual(['a', '😀b', 'c']);
  });

  test('is read with U+FFFD for a half that the text after it leaves alone', () => {
    const heard = hear(dialect, ...thoughtBlock(0, 'a\ud83d'), ...textBlock(1, '\ude00b'), finish);
    expect(textsOf(heard).join('|')).toBe('a|\ufffd|\ufffdb');
  });
});

test('arguments keep their characters, too', () => {
  const heard = hear('openai', ...callBlock(0, '{"a":"\ud83d', '\ude00"}'), ...[finish]);
  expect(textsOf(heard)).toEqual(['{"a":"', '😀"}']);
});

test('arguments that end in half a character end with U+FFFD', () => {
  const heard = hear('openai', ...callBlock(0, '{"a":"\ud83d'), finish);
  expect(textsOf(heard).join('|')).toBe('{"a":"|\ufffd');
});

test('an error leaves half a character out, like everything else that is missing', () => {
  const error: GenerationEvent = { type: 'error', error: { kind: 'upstream-failed', message: 'x' } };
  expect(textsOf(hear('openai', ...textBlock(0, 'a\ud83d'), error))).toEqual(['a']);
});

test('a single body with half a character is read with U+FFFD for it', () => {
  const message: Json = { role: 'assistant', content: 'a\ud83d' };
  const body = { choices: [{ index: 0, finish_reason: 'stop', message }] };
  expect(textsOf(formatNamed('openai').client.decodeResponse(body, context))).toEqual(['a', '\ufffd']);
});
