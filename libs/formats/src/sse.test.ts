import { SluiceError } from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamMessage } from './codec.ts';
import { SseParser, sseComment, sseData, sseEvent } from './sse.ts';

function parse(...pieces: (string | Uint8Array)[]): StreamMessage[] {
  const parser = new SseParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

/** Splits bytes at the given places; pieces may be empty. */
function cut(bytes: Uint8Array, places: number[]): Uint8Array[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}

/** Reads a whole stream, line by line, as the standard does it, with our field `error` and a last blank line added. */
function readSlowly(bytes: Uint8Array): StreamMessage[] {
  const messages: StreamMessage[] = [];
  let message: Partial<StreamMessage> = {};
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  for (const line of [...lines, '']) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line === '') {
      const { data } = message;
      if (data !== undefined) messages.push({ ...message, data });
      message = {};
    } else if (name === 'data')
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    else if (name === 'event' && value !== '') message.event = value;
    else if (name === 'error') message = { event: name, data: value };
  }
  return messages;
}

describe('SseParser', () => {
  test('reads messages with and without a name', () => {
    expect(parse('event: ping\ndata: {}\n\ndata: {"a":1}\n\n')).toEqual([
      { event: 'ping', data: '{}' },
      { data: '{"a":1}' },
    ]);
  });

  test('gives a message as soon as its blank line arrives', () => {
    const parser = new SseParser();
    expect(parser.push('data: a\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ data: 'a' }]);
    expect(parser.push('data: b\r\n\r')).toEqual([{ data: 'b' }]);
    expect(parser.push('\ndata: c\n\n')).toEqual([{ data: 'c' }]);
    expect(parser.end()).toEqual([]);
  });

  test.each(['\n', '\r', '\r\n'])('takes %j as a line end', (end) => {
    expect(parse(['event: x', 'data: 1', '', 'data: 2', '', ''].join(end))).toEqual([
      { event: 'x', data: '1' },
      { data: '2' },
    ]);
  });

  test('reads invalid UTF-8 as the web does, wherever it is split', () => {
    const byte = fc.constantFrom(
      0x41,
      0xc0,
      0xc3,
      0xa9,
      0xe2,
      0x82,
      0xac,
      0xed,
      0xef,
      0xbb,
      0xbf,
      0xf0,
      0x9f,
      0xff,
    );
    const bytes = fc.array(byte, { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(bytes, fc.array(fc.nat()), (said, places) => {
        const line = Uint8Array.of(...Buffer.from('data:'), ...said, 10, 10);
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(said));
        expect(parse(...cut(line, places))).toEqual([{ data: text }]);
      }),
    );
  });

  test('joins data lines with a line feed and strips one leading space only', () => {
    expect(parse('data:a\ndata:  b\ndata\ndata: c\n\n')).toEqual([{ data: 'a\n b\n\nc' }]);
  });

  test('takes a field named error for a message of that name', () => {
    expect(parse('data: 1\n\nerror: {"code":400}\n\ndata: [DONE]\n\n')).toEqual([
      { data: '1' },
      { event: 'error', data: '{"code":400}' },
      { data: '[DONE]' },
    ]);
  });

  test('ignores comments, unknown fields, a byte order mark and names without data', () => {
    expect(parse('\uFEFFdata: a\n\n: hello\n\nid: 7\nretry: 10\nevent: x\n\ndata: b\n\n')).toEqual([
      { data: 'a' },
      { data: 'b' },
    ]);
  });

  test('takes a piece that is exactly one message for that message, wherever the stream is', () => {
    const whole = 'data: a\n\n';
    expect(parse(whole, whole)).toEqual([{ data: 'a' }, { data: 'a' }]);
    expect(parse('event: x\n', whole)).toEqual([{ event: 'x', data: 'a' }]);
    expect(parse('data: b\n', whole)).toEqual([{ data: 'b\na' }]);
    expect(parse(': said in ', whole, whole)).toEqual([{ data: 'a' }]);
    expect(parse('data: b\n\r', whole)).toEqual([{ data: 'b' }, { data: 'a' }]);
    expect(parse(whole, `\uFEFF${whole}`)).toEqual([{ data: 'a' }]);
    expect(parse('data: a\rdata: b\n\n', 'data: \n\n')).toEqual([{ data: 'a\nb' }, { data: '' }]);
  });

  test('keeps a byte order mark that is not the first character', () => {
    expect(parse('data: \uFEFF\n\n')).toEqual([{ data: '\uFEFF' }]);
    const two = new TextEncoder().encode('\uFEFF\uFEFFdata: a\n\ndata: b\n\n');
    expect(parse(two)).toEqual([{ data: 'b' }]);
  });

  test('sees a line end and a byte order mark even after an empty piece', () => {
    expect(parse('data: a\r', '', '\ndata: b\n\n')).toEqual([{ data: 'a\nb' }]);
    expect(parse('data: a\r', '\ndata: b\n\n')).toEqual([{ data: 'a\nb' }]);
    expect(parse('', '\uFEFFdata: a\n\n')).toEqual([{ data: 'a' }]);
  });

  test('takes no other field for the name, and no empty name for one', () => {
    expect(parse('event: x\nid: 7\ndata: a\n\nevent: x\nevent:\ndata: b\n\n')).toEqual([
      { event: 'x', data: 'a' },
      { event: 'x', data: 'b' },
    ]);
    expect(parse('event:\ndata: c\n\n')).toEqual([{ data: 'c' }]);
  });

  test('gives the last message even if its blank line is missing', () => {
    expect(parse('data: [DONE]')).toEqual([{ data: '[DONE]' }]);
  });

  test('any split of the bytes gives the same messages', () => {
    const line = fc.constantFrom('data: ä€😀', 'data:', 'data: {"x":1}', 'event: e', ': c', '', '', 'id: 1');
    const document = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 });
    fc.assert(
      fc.property(document, fc.boolean(), fc.array(fc.nat(), { maxLength: 12 }), (lines, mark, places) => {
        const text = (mark ? '\uFEFF' : '') + lines.map(([line, end]) => line + end).join('');
        const bytes = new TextEncoder().encode(text);
        expect(parse(...cut(bytes, places))).toEqual(parse(text));
      }),
    );
  });

  test('any stream gives the messages that a slow reader of the whole finds', () => {
    const fields = [
      'data: a',
      'data: b\n',
      'data:',
      'data',
      'event: x',
      'event:',
      'error: e',
      ': c',
      'id: 1',
    ];
    const messages = ['data: a\n\n', 'data: a\rdata: b\n\n', 'data: a\r\n\r\n'];
    const marks = ['\n', '\n\n', '\r', '\r\n', '\uFEFF', ' ', ':', 'a', '\0', 'ä€😀', '\u2028'];
    const bits = fc.array(fc.constantFrom(...fields, ...messages, ...marks), { minLength: 1, maxLength: 3 });
    const pieces = fc.array(fc.oneof(bits, fc.constantFrom(...messages)), { maxLength: 6 });
    const dirt = fc.constantFrom(undefined, undefined, 0xff, 0xc3, 0xe2, 0xf0);
    fc.assert(
      fc.property(pieces, dirt, fc.nat(), fc.array(fc.nat(), { maxLength: 2 }), (said, byte, at, places) => {
        const parts = said.map((texts) => new TextEncoder().encode([texts].flat().join('')));
        const [first] = parts;
        if (first && byte !== undefined) first[at % first.length] = byte;
        const whole = Buffer.concat(parts);
        const wanted = readSlowly(whole);
        expect(parse(...parts)).toEqual(wanted);
        expect(parse(...cut(whole, places))).toEqual(wanted);
      }),
      { numRuns: 3_000 },
    );
  });

  test('refuses a message beyond the limit, in one line or in many', () => {
    const tooLarge = expect.objectContaining({
      kind: 'upstream-failed',
      message: 'a message of the stream exceeds 20 bytes',
    });
    const oneLine = new SseParser({ maxMessageBytes: 20 });
    expect(oneLine.push(`data: ${'x'.repeat(14)}`)).toEqual([]);
    expect(() => oneLine.push('x')).toThrow(tooLarge);
    const wholeLine = new SseParser({ maxMessageBytes: 20 });
    expect(() => wholeLine.push(`data: ${'x'.repeat(20)}\n\n`)).toThrow(tooLarge);
    const manyLines = new SseParser({ maxMessageBytes: 20 });
    expect(() => {
      for (let count = 0; count < 10; count += 1) manyLines.push('data: 12345\n');
    }).toThrow(SluiceError);
  });

  test('refuses a message of lines that take more memory than their text', () => {
    const parser = new SseParser({ maxMessageBytes: 1_000 });
    expect(() => parser.push('data: x\n'.repeat(20))).toThrow('a message of the stream exceeds 1000 bytes');
  });

  test('limits each message separately', () => {
    const parser = new SseParser({ maxMessageBytes: 20 });
    for (let count = 0; count < 100; count += 1) expect(parser.push('data: 12345\n\n')).toHaveLength(1);
  });
});

describe('writers', () => {
  test('what they write is read back', () => {
    const value = { text: 'a\nb\r\n\u2028' };
    expect(parse(sseData(value), sseComment(), sseEvent('done', value))).toEqual([
      { data: JSON.stringify(value) },
      { event: 'done', data: JSON.stringify(value) },
    ]);
  });
});
