import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type FormatName, formatNames } from '../dialects/dialect.ts';
import { dialects } from '../dialects/registry.ts';
import { createVoice } from '../upstream/voice.ts';
import { LineShape, SseScanner } from './sse-scanner.ts';

interface Heard {
  texts: string[];
  hasEnd: boolean;
  outputTokens: number | undefined;
  errors: string[];
  malformed: number;
}

function scan(
  format: FormatName,
  pieces: readonly Buffer[],
  shape = new LineShape(dialects[format]),
  longestBytes?: number,
): Heard {
  const heard: Heard = { texts: [], hasEnd: false, outputTokens: undefined, errors: [], malformed: 0 };
  const scanner = new SseScanner(
    dialects[format],
    shape,
    {
      text: (bytes, start, end) => heard.texts.push(JSON.parse(`"${bytes.toString('utf8', start, end)}"`)),
      facts: (facts) => {
        if (facts.isEnd === true) heard.hasEnd = true;
        heard.outputTokens = facts.outputTokens ?? heard.outputTokens;
        if (facts.error !== undefined) heard.errors.push(facts.error);
      },
      malformed: () => {
        heard.malformed += 1;
      },
    },
    longestBytes,
  );
  for (const piece of pieces) scanner.push(piece, 0, piece.length);
  scanner.end();
  return heard;
}

/** A stream of the format with these token texts, as its JSON would escape them. */
function stream(format: FormatName, texts: readonly string[]): Buffer {
  const options = { id: '1', model: 'm', inputTokens: 3, created: 1, includesUsage: true };
  const voice = createVoice(format, options);
  const tokens = texts.map((text) => voice.token(JSON.stringify(text).slice(1, -1)));
  return Buffer.from(voice.start() + tokens.join('') + voice.end('stop', texts.length));
}

function split(bytes: Buffer, at: readonly number[]): Buffer[] {
  const cuts = [0, ...at.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((cut, i) => bytes.subarray(cuts[i], cut));
}

const token = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom('"content":"', '"text":"', '\\', '"', 'é\u2028'),
);

describe.each(formatNames)('the scanner of %s', (format) => {
  it('finds every text, the end and the usage in any split of any stream', () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 20 }), fc.array(fc.nat()), (texts, cuts) => {
        const heard = scan(format, split(stream(format, texts), cuts));
        expect(heard).toEqual({ texts, hasEnd: true, outputTokens: texts.length, errors: [], malformed: 0 });
      }),
    );
  });

  it.each(['\r', '\r\n'])('finds the same in lines that end in %j', (lineEnd) => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 9 }), fc.array(fc.nat()), (texts, cuts) => {
        const bytes = Buffer.from(stream(format, texts).toString().replaceAll('\n', lineEnd));
        const heard = scan(format, split(bytes, cuts));
        expect(heard).toEqual({ texts, hasEnd: true, outputTokens: texts.length, errors: [], malformed: 0 });
      }),
    );
  });

  it('puts data together that goes over several lines', () => {
    const text = stream(format, ['a', 'b'])
      .toString()
      .replaceAll(/^data: \{(.*)\}$/gm, 'data: {\ndata: $1\ndata: }\ndata:');
    expect(text).toContain('data: }');
    expect(scan(format, [Buffer.from(text)])).toMatchObject({
      texts: ['a', 'b'],
      hasEnd: true,
      malformed: 0,
    });
  });

  it('joins the pieces of a long line once, however many reads it took', () => {
    const long = 'x'.repeat(100_000);
    const bytes = stream(format, [long]);
    const cuts = Array.from({ length: 1000 }, (_, at) => at * 100);
    const concat = vi.spyOn(Buffer, 'concat');
    const heard = scan(format, split(bytes, cuts));
    expect(heard.texts).toEqual([long]);
    expect(concat.mock.calls.length).toBeLessThan(10);
    concat.mockRestore();
  });

  it('gives up a line that has no end, and reads on after it', () => {
    const endless = Array.from({ length: 100 }, () => Buffer.from('data: endless '));
    const pieces = [...endless, Buffer.from('\n'), stream(format, ['x'])];
    const heard = scan(format, pieces, undefined, 500);
    expect(heard).toMatchObject({ texts: ['x'], hasEnd: true, malformed: 1 });
  });

  it('reads on when another stream taught it another shape of line', () => {
    const shape = new LineShape(dialects[format]);
    const spaced = stream(format, ['a', 'b']).toString().replaceAll('":', '": ');
    for (const text of [stream(format, ['a', 'b']).toString(), spaced, spaced.replaceAll('\n', '\r\n')]) {
      expect(scan(format, [Buffer.from(text)], shape)).toMatchObject({
        texts: ['a', 'b'],
        hasEnd: true,
        malformed: 0,
      });
    }
  });

  it('passes comments, pings and fields that say nothing', () => {
    const noise = ': ping\n\nevent: ping\ndata: {"type":"ping"}\n\nid: 3\nretry: 100\n\n';
    const heard = scan(format, [Buffer.from(noise), stream(format, ['x'])]);
    expect(heard).toMatchObject({ texts: ['x'], hasEnd: true, malformed: 0 });
  });

  it('reports what is neither SSE nor JSON', () => {
    expect(scan(format, [Buffer.from('<html>\n')]).malformed).toBe(1);
    expect(scan(format, [Buffer.from('data: {"half\n\n')]).malformed).toBe(1);
  });

  it('takes a last line without its end', () => {
    const whole = stream(format, ['x']);
    expect(scan(format, [whole.subarray(0, whole.toString().trimEnd().length)]).hasEnd).toBe(true);
  });
});

describe('an event that says more than text', () => {
  it('is heard whole however often such a one came before, in this stream or in others', () => {
    const shape = new LineShape(dialects.gemini);
    const event = (text: string, more: object) =>
      `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] }, ...more }] })}\n\n`;
    // A whole answer in one event; the last one says as many bytes of something else.
    const [short, same] = [event('a', { finishReason: 'STOP' }), event('b', { safetyRating: 'NONE' })];
    expect(same).toHaveLength(short.length);
    for (const text of [short, short, same + short, short])
      expect(scan('gemini', [Buffer.from(text)], shape)).toMatchObject({ hasEnd: true, malformed: 0 });
  });

  it('is heard whole after events that said text alone', () => {
    const event = (text: string, more: object) =>
      `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] }, ...more }] })}\n\n`;
    const stream = event('a', {}) + event('b', {}) + event('c', { finishReason: 'STOP' });
    expect(scan('gemini', [Buffer.from(stream)])).toMatchObject({ texts: ['a', 'b', 'c'], hasEnd: true });
  });
});

describe('a chat completion', () => {
  const chunk = (finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason }] })}\n\n`;

  it('has ended with its reason to finish, where no [DONE] comes', () => {
    expect(scan('openai', [Buffer.from(chunk(null) + chunk('stop'))]).hasEnd).toBe(true);
    expect(scan('openai', [Buffer.from(chunk(null) + chunk(null))]).hasEnd).toBe(false);
  });
});

describe('a body that begins with a byte order mark', () => {
  it('is heard whole, wherever it is cut', () => {
    const bytes = Buffer.concat([Buffer.from('\ufeff'), stream('openai', ['a', 'b'])]);
    for (const cut of [0, 1, 2, 3, 4])
      expect(scan('openai', split(bytes, [cut]))).toMatchObject({ texts: ['a', 'b'], malformed: 0 });
  });
});

describe('content', () => {
  const lines = (...events: object[]) =>
    Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

  it('may be a refusal', () => {
    const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });
    const heard = scan('openai', [lines(chunk({ refusal: 'I can' }), chunk({ refusal: 'not' }))]);
    expect(heard.texts).toEqual(['I can', 'not']);
    const message = { content: null, refusal: 'no' };
    expect(dialects.openai.readAnswer({ choices: [{ message }] })).toMatchObject({ text: 'no' });
  });

  it('may be a list of parts, some of them thoughts', () => {
    const text = (said: string) => ({ type: 'text', text: said });
    const lists = [
      [{ type: 'thinking', thinking: [text('so'), text('what')] }],
      [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }],
      [text('Hi')],
    ];
    const chunks = lists.map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
    expect(scan('openai', [lines(...chunks)]).texts).toEqual(['sowhat', 'hm', 'Hi']);
    const isThought = chunks.map((chunk) => dialects.openai.readEvent(JSON.stringify(chunk)).isThought);
    expect(isThought).toEqual([true, true, undefined]);
    const answer = dialects.openai.readAnswer({ choices: [{ message: { content: lists.flat() } }] });
    expect(answer).toMatchObject({ text: 'sowhathmHi', isEnd: true });
  });

  it('may stand in the start of its block', () => {
    const start = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block });
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' there' } };
    const blocks = [start({ type: 'thinking', thinking: 'hm' }), start({ type: 'text', text: 'Hi' })];
    expect(scan('anthropic', [lines(...blocks, delta)]).texts).toEqual(['hm', 'Hi', ' there']);
  });

  it('is none of a prompt that is blocked, whose answer is whole all the same', () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } };
    expect(scan('gemini', [lines(blocked)])).toMatchObject({ texts: [], hasEnd: true, malformed: 0 });
    expect(dialects.gemini.readAnswer(blocked).isEnd).toBe(true);
  });
});

describe('errors within a stream', () => {
  it.each([
    [
      'openai',
      'data: {"error":{"message":"m","type":"server_error","code":"worker_lost"}}\n\n',
      'worker_lost',
    ],
    [
      'anthropic',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
      'overloaded_error',
    ],
    ['gemini', 'data: {"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}\n\n', 'UNAVAILABLE'],
  ] as const)('are told by their type in %s', (format, text, type) => {
    expect(scan(format, [Buffer.from(text)]).errors).toEqual([type]);
  });

  it.each([
    ['by its name', 'event: error\ndata: {"message":"m"}\n\n', 'error'],
    ['by its name, with a type', 'event:error\nid: 3\ndata: {"type":"overloaded"}\n\n', 'overloaded'],
    ['by its name, in several lines', 'event: error\ndata: {\ndata: "code":"busy"}\n\n', 'busy'],
    ['by its name, without JSON', 'event: error\ndata: Internal Server Error\n\n', 'error'],
    [
      'by its object',
      'data: {"object":"error","type":"InternalServerError","code":500}\n\n',
      'InternalServerError',
    ],
    ['by its field', 'error: {"code":500,"message":"m","type":"server_error"}\n\n', 'server_error'],
  ])('are told %s, though [DONE] follows', (_, text, type) => {
    const heard = scan('openai', [stream('openai', ['x']), Buffer.from(`${text}data: [DONE]\n\n`)]);
    expect(heard).toMatchObject({ errors: [type], hasEnd: true, malformed: 0 });
  });

  it('counts reasoning and tool calls as text', () => {
    const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
    const text =
      chunk({ reasoning_content: 'hm' }) +
      chunk({ reasoning_content: '', reasoning: 'so' }) +
      chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] });
    expect(scan('openai', [Buffer.from(text)]).texts).toEqual(['hm', 'so', 'f', '{"a"']);
  });
});
