import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateTokens } from './estimate.ts';
import type { Json } from './json.ts';
import type { MediaPart } from './request.ts';

describe('the estimate of input tokens', () => {
  it('counts a token for every four characters, rounded up', () => {
    expect([
      estimateTokens(''),
      estimateTokens('a'),
      estimateTokens('abcd'),
      estimateTokens('abcde'),
    ]).toEqual([0, 1, 1, 2]);
  });

  it('adds messages, calls, results, media and tools', () => {
    const base = { model: 'm', sampling: {} };
    const text = estimateInputTokens({
      ...base,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(40) }] }],
    });
    expect(text).toBe(14);
    const rich = estimateInputTokens({
      ...base,
      messages: [
        {
          role: 'user',
          content: [{ type: 'media', mediaType: 'image/png', source: { type: 'url', url: 'x' } }],
        },
        { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'find', arguments: '{"a":1}' }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'a', content: [{ type: 'text', text: 'four' }] }],
        },
      ],
    });
    expect(rich).toBe(4 + 1000 + 4 + 1 + 2 + 4 + 1);
    const tools = [{ type: 'function' as const, name: 'find', parameters: { type: 'object' } }];
    expect(estimateInputTokens({ ...base, messages: [], tools })).toBeGreaterThan(10);
  });

  it('counts thinking as text, and an answer’s schema as its JSON', () => {
    const base = { model: 'm', sampling: {} };
    const thinking = {
      role: 'assistant' as const,
      content: [{ type: 'reasoning' as const, text: 'x'.repeat(40) }],
    };
    expect(estimateInputTokens({ ...base, messages: [thinking] })).toBe(4 + 10);
    const schema = { type: 'object', title: 'x'.repeat(40) };
    const output = { type: 'json' as const, schema };
    expect(estimateInputTokens({ ...base, messages: [], output })).toBe(JSON.stringify(schema).length / 4);
  });

  it('counts a text file as its text, and any other file as what it is', () => {
    const text = 'x'.repeat(4_000);
    const data = Buffer.from(text).toString('base64');
    const tokensOf = (part: MediaPart) =>
      estimateInputTokens({ model: 'm', sampling: {}, messages: [{ role: 'user', content: [part] }] }) - 4;
    const file = (mediaType: string): MediaPart => ({
      ...{ type: 'media', mediaType },
      source: { type: 'base64', data },
    });
    expect(tokensOf(file('text/plain'))).toBeCloseTo(estimateTokens(text), -1);
    const textTypes = [
      ...['TEXT/markdown; charset=utf-8', 'application/json', 'application/x-yaml', 'application/sql'],
      ...['application/xml;charset=utf-8', 'application/ld+json'],
    ];
    for (const each of textTypes) expect(tokensOf(file(each))).toBe(tokensOf(file('text/plain')));
    expect(tokensOf(file('application/jsonish'))).toBe(1500);
    expect(tokensOf(file('image/svg+xml'))).toBe(1000);
    expect(tokensOf(file('image/png'))).toBe(1000);
    expect(tokensOf(file('application/pdf'))).toBe(1500);
  });

  it('counts a part that it does not know as its JSON, and files in it as files', () => {
    const tokensOf = (value: Json) => {
      const content = [{ type: 'opaque' as const, format: 'openai', value }];
      return estimateInputTokens({ model: 'm', sampling: {}, messages: [{ role: 'user', content }] }) - 4;
    };
    const data = Buffer.alloc(832_998).toString('base64');
    const told = { type: 'note', text: 'x'.repeat(4000), data, media_type: 'text/plain' };
    expect(tokensOf(told)).toBe(estimateTokens(JSON.stringify(told)));
    const values = { list: [1, true, null, 'four'], name: 'x' };
    expect(tokensOf(values)).toBe(estimateTokens(JSON.stringify(values)));
    const video = { type: 'video_url', video_url: { url: `data:video/mp4;codecs=vp8;base64,${data}` } };
    expect(tokensOf(video)).toBe(1000 + Math.ceil('{"type":"video_url","video_url":{"url":""}}'.length / 4));
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/heic', data } };
    const document = { type: 'document', source: { type: 'content', content: [image, image] } };
    expect(tokensOf(document)).toBeGreaterThan(2000);
    expect(tokensOf(document)).toBeLessThan(2100);
    expect(tokensOf(`DATA:;base64,${data}`)).toBe(1500 * Math.ceil(832_998 / 65_536));
    expect(tokensOf('data:text/plain,none')).toBe(6);
    let deep: Json = 'x';
    for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
    expect(tokensOf(deep)).toBeGreaterThan(10_000);
  });

  it('is never zero', () => {
    expect(estimateInputTokens({ model: 'm', sampling: {}, messages: [] })).toBe(1);
  });
});
