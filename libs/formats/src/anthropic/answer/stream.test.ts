import type { GenerationEvent } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import type { ClientCall } from '../../codec.ts';
import { anthropic } from '../index.ts';

const { client, server } = anthropic;
const call: ClientCall = { stream: true, model: 'm', choices: 1, requestId: 'req_9', wire: {} };
const start: GenerationEvent = { type: 'start', id: '1', model: 'm', createdAt: 0 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const context = { id: '1', createdAt: 0, model: 'm' };

function encode(...events: GenerationEvent[]): string[] {
  const encoder = server.createStreamEncoder(call);
  return events.map((event) => encoder.push(event, 0));
}

function eventNames(text: string): string[] {
  return [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name ?? '');
}

function decode(...data: (object | string)[]): GenerationEvent[] {
  const decoder = client.createStreamDecoder(context);
  const events = data.flatMap((one) =>
    decoder.push({ data: typeof one === 'string' ? one : JSON.stringify(one) }),
  );
  return [...events, ...decoder.end()];
}

describe('the encoder', () => {
  test('keeps the connection alive with a comment before the message and with pings inside it', () => {
    const encoder = server.createStreamEncoder(call);
    expect(encoder.keepAlive()).toMatch(/^: .*\n\n$/);
    encoder.push(start, 0);
    expect(encoder.keepAlive()).toBe('event: ping\ndata: {"type":"ping"}\n\n');
    encoder.push(finish, 0);
    expect(encoder.keepAlive()).toBe('');
  });

  test('ignores a second start, and everything after the end', () => {
    const [, again, , after] = encode(start, start, finish, { type: 'text-delta', block: 0, text: 'x' });
    expect(again).toBe('');
    expect(after).toBe('');
  });

  test('writes thinking that the client does not want to see with what follows it', () => {
    const encoder = server.createStreamEncoder({ ...call, wire: { hidesThinking: true } });
    const events: GenerationEvent[] = [
      start,
      { type: 'reasoning-delta', block: 0, text: 'well' },
      { type: 'reasoning-delta', block: 0, text: ' then' },
      { type: 'text-delta', block: 1, text: 'Hi' },
    ];
    const texts = events.map((event) => eventNames(encoder.push(event, 0)).length);
    expect(texts).toEqual([1, 0, 0, 5]);
  });

  test('reports cached tokens apart from the others at once', () => {
    const cached = { inputTokens: 7510, cacheReadTokens: 7000, cacheWriteTokens: 500 };
    const [text] = encode({ ...start, ...cached });
    expect(JSON.parse(text?.split('data: ')[1] ?? '')).toMatchObject({
      message: {
        usage: { input_tokens: 10, cache_creation_input_tokens: 500, cache_read_input_tokens: 7000 },
      },
    });
  });

  test('counts all tokens as new if a worker of an older version reports no others', () => {
    const [text] = encode({ ...start, inputTokens: 9 });
    expect(text).toContain('"usage":{"input_tokens":9,"output_tokens":0,"cache_creation_input_tokens":0,');
  });

  test('begins as the server of the same dialect did', () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 0,
      cache_creation_input_tokens: 500,
      cache_read_input_tokens: 7000,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
      service_tier: 'priority',
    };
    const [text] = encode(...decode({ type: 'message_start', message: { usage } }));
    expect(JSON.parse(text?.split('data: ')[1] ?? '')).toMatchObject({ message: { usage } });
  });

  test('leaves no trace of an empty block', () => {
    const texts = encode(
      start,
      { type: 'text-delta', block: 0, text: '' },
      { type: 'reasoning-delta', block: 1, text: '' },
      { type: 'opaque', format: 'gemini', value: {}, block: 2 },
      { type: 'text-delta', block: 3, text: 'x' },
    );
    expect(texts.join('')).toContain('"content_block_delta","index":0');
    expect(eventNames(texts.join(''))).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
    ]);
  });

  test('stops a call as soon as it is complete', () => {
    const texts = encode(
      start,
      { type: 'tool-call-start', block: 0, id: 'a', name: 'f' },
      { type: 'tool-call-end', block: 0 },
      finish,
    );
    expect(texts.map(eventNames)).toEqual([
      ['message_start'],
      ['content_block_start'],
      ['content_block_stop'],
      ['message_delta', 'message_stop'],
    ]);
  });

  const call1: GenerationEvent = { type: 'tool-call-start', block: 0, id: 'a', name: 'f' };
  const fragment = (text: string): GenerationEvent => ({
    type: 'tool-call-delta',
    block: 0,
    arguments: text,
  });
  const called = (reason: 'tool-calls' | 'length'): GenerationEvent[] => [
    { type: 'tool-call-end', block: 0 },
    { type: 'finish', reason, usage: {} },
  ];

  test('passes good arguments on while they come', () => {
    const texts = encode(start, call1, fragment('{"city":"Os'), fragment('lo"}'), ...called('tool-calls'));
    expect(texts[2]).toContain(JSON.stringify({ type: 'input_json_delta', partial_json: '{"city":"Os' }));
    expect(texts[3]).toContain(JSON.stringify({ type: 'input_json_delta', partial_json: 'lo"}' }));
    expect(texts[5]).toContain('"stop_reason":"tool_use"');
  });

  test.each(['not json', '[1]', '"str"'])(
    'passes on no arguments that are no object, and does not ask for the call to be run: %s',
    (text) => {
      const said = encode(start, call1, fragment(text), ...called('tool-calls')).join('');
      expect(said).not.toContain('input_json_delta');
      expect(said).toContain('"stop_reason":"end_turn"');
    },
  );

  test('does not ask for any call to be run if the arguments of one were lost', () => {
    const second: GenerationEvent[] = [
      { type: 'tool-call-start', block: 1, id: 'b', name: 'f' },
      { type: 'tool-call-delta', block: 1, arguments: '{}' },
      { type: 'tool-call-end', block: 1 },
    ];
    const [closed, finished] = called('tool-calls');
    const events = [start, call1, fragment('{"a":1,"b":'), fragment('oops}'), closed, ...second, finished];
    const said = encode(...events.filter((event) => event !== undefined)).join('');
    expect(said.match(/"partial_json":"(?:[^"\\]|\\.)*"/g)).toEqual([
      '"partial_json":"{\\"a\\":1"',
      '"partial_json":"}"',
      '"partial_json":"{}"',
    ]);
    expect(said).toContain('"stop_reason":"end_turn"');
  });

  test('closes arguments that the output limit cut off', () => {
    const said = encode(start, call1, fragment('{"city":"Os'), ...called('length')).join('');
    expect(said).toContain(JSON.stringify({ type: 'input_json_delta', partial_json: '"}' }));
    expect(said).toContain('"stop_reason":"max_tokens"');
  });

  test('does not ask for a call to be run whose arguments break off, even if its server does', () => {
    const said = encode(start, call1, fragment('{"path":"/home/us'), ...called('tool-calls')).join('');
    expect(said).toContain('"stop_reason":"end_turn"');
  });

  test('passes on no event whose name could break the framing', () => {
    const [, text] = encode(start, {
      type: 'opaque',
      format: 'anthropic',
      value: { type: 'x\nevent: error' },
    });
    expect(text).toBe('');
  });

  test('ends with an error event and nothing else', () => {
    const error: GenerationEvent = { type: 'error', error: { kind: 'saturated', message: 'full' } };
    const [, text] = encode(start, error);
    expect(text).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"full"},"request_id":"req_9"}\n\n',
    );
  });
});

describe('a single body', () => {
  test.each([
    ['were lost', 'rm -rf', {}],
    ['break off', '{"path":"/home/us', { path: '/home/us' }],
  ])('does not ask for a call to be run whose arguments %s', (_what, text, input) => {
    const body = server.encodeResponse(
      [
        {
          id: '1',
          model: 'm',
          createdAt: 0,
          content: [{ type: 'tool-call', id: 'a', name: 'f', arguments: text }],
          finish: { type: 'finish', reason: 'tool-calls', usage: {} },
        },
      ],
      call,
    );
    expect(body).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'tool_use', input }] });
  });
});

describe('the decoder', () => {
  const messageStart = { type: 'message_start', message: { usage: { input_tokens: 5 } } };
  const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'H' } };
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'i' } };
  const messageDelta = {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: 2 },
  };

  test('takes text from the start of a block, and accepts a block that is never stopped', () => {
    expect(decode(messageStart, textStart, delta, messageDelta, { type: 'message_stop' }, '[DONE]')).toEqual([
      { type: 'start', ...context, inputTokens: 5 },
      { type: 'text-delta', block: 0, text: 'H' },
      { type: 'text-delta', block: 0, text: 'i' },
      { type: 'finish', reason: 'stop', usage: { inputTokens: 5, outputTokens: 2 } },
    ]);
  });

  test.each([
    ['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}', 'a'],
    ['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}      }', 'a'],
    ['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\"\\n}}"}}', '"\n}}'],
    ['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","b":"c"}}', 'a'],
    ['{"delta": {"text": "a", "type": "text_delta"}, "index": 0, "type": "content_block_delta"}', 'a'],
  ])('reads a delta however it is written: %s', (data, text) => {
    expect(decode(messageStart, textStart, data)).toContainEqual({ type: 'text-delta', block: 0, text });
  });

  test('never takes a text for the block before it', () => {
    const stop = { type: 'content_block_stop', index: 0 };
    const events = decode(messageStart, textStart, stop, JSON.stringify(delta));
    const blocks = events.flatMap((event) => (event.type === 'text-delta' ? event.block : []));
    expect(blocks).toEqual([0, 1]);
  });

  test('takes the input of a call from its start', () => {
    const tool = { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } };
    const events = decode(
      messageStart,
      { type: 'content_block_start', index: 0, content_block: tool },
      {
        type: 'content_block_stop',
        index: 0,
      },
    );
    expect(events).toContainEqual({ type: 'tool-call-delta', block: 0, arguments: '{"x":1}' });
  });

  test('starts a generation that a server forgot to start', () => {
    expect(decode(textStart, messageDelta).map(({ type }) => type)).toEqual([
      'start',
      'text-delta',
      'finish',
    ]);
  });

  test('reports what was spent when the stream ends in the middle', () => {
    expect(decode(messageStart, textStart).at(-1)).toEqual({
      type: 'error',
      error: {
        kind: 'upstream-failed',
        message: 'the upstream closed the stream before the answer was complete',
      },
      usage: { inputTokens: 5 },
    });
  });

  test('ends with an error for anything that is not JSON, and says nothing after it', () => {
    const events = decode(messageStart, 'secret', delta);
    expect(events.map(({ type }) => type)).toEqual(['start', 'error']);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  test('gives an error event its true kind', () => {
    const error = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } };
    expect(decode(error)).toEqual([{ type: 'error', error: { kind: 'rate-limited', message: 'slow down' } }]);
  });
});
