import { Collector, type GenerationEvent, GrammarChecker } from '@sluice/canonical';
import { findClientCodec, SseParser } from '@sluice/formats';
import { describe, expect, it } from 'vitest';
import { formatNames } from '../dialects/dialect.ts';
import { dialects } from '../dialects/registry.ts';
import { formatToken } from '../requests/token-text.ts';
import { readAsk } from './ask.ts';
import { errorBody } from './error-body.ts';
import { parsePace } from './pace.ts';
import { createVoice } from './voice.ts';

const options = { id: '7', model: 'paced-n3', inputTokens: 9, created: 1, includesUsage: true };
const context = { id: '1', createdAt: 0, model: 'm' };

describe.each(formatNames)('the voice of %s', (format) => {
  const codec = findClientCodec(format);
  const text = [0, 1, 2].map((position) => formatToken(position, undefined)).join('');

  function collect(events: readonly GenerationEvent[]) {
    const [collector, checker] = [new Collector(), new GrammarChecker()];
    for (const event of events) {
      expect(checker.check(event)).toBeUndefined();
      collector.push(event);
    }
    return collector.generation();
  }

  it('streams what the gateway understands of a real server', () => {
    const voice = createVoice(format, options);
    const tokens = [0, 1, 2].map((position) => voice.token(formatToken(position, undefined)));
    const decoder = codec?.createStreamDecoder(context);
    const messages = new SseParser().push(voice.start() + tokens.join('') + voice.end('length', 3));
    const events = [
      ...messages.flatMap((message) => decoder?.push(message) ?? []),
      ...(decoder?.end() ?? []),
    ];
    const generation = collect(events);
    expect(generation.content).toMatchObject([{ type: 'text', text }]);
    expect(generation.finish).toMatchObject({ reason: 'length', usage: { inputTokens: 9, outputTokens: 3 } });
  });

  it('says a single body that the gateway understands', () => {
    const body: unknown = JSON.parse(createVoice(format, options).single(text, 'stop', 3));
    const generation = collect(codec?.decodeResponse(body, context) ?? []);
    expect(generation.content).toMatchObject([{ type: 'text', text }]);
    expect(generation.finish).toMatchObject({ reason: 'stop', usage: { outputTokens: 3 } });
  });

  it.each([
    [400, 'invalid-request', 'invalid_request_error invalid_request_error INVALID_ARGUMENT'],
    [401, 'unauthenticated', 'invalid_request_error authentication_error UNAUTHENTICATED'],
    [404, 'not-found', 'invalid_request_error not_found_error NOT_FOUND'],
    [429, 'rate-limited', 'rate_limit_error rate_limit_error RESOURCE_EXHAUSTED'],
    [500, 'upstream-failed', 'server_error api_error INTERNAL'],
    [529, 'unavailable', 'server_error overloaded_error UNAVAILABLE'],
  ])('refuses with %d in words that the gateway understands', (status, kind, types) => {
    const body: unknown = JSON.parse(errorBody(format, status, 'so it was asked'));
    expect(codec?.decodeError(status, {}, body)).toMatchObject({ kind });
    expect(dialects[format].readError(body)).toBe(types.split(' ')[formatNames.indexOf(format)]);
  });

  it('hears what our own client and the gateway ask', () => {
    const ask = { model: 'org/paced-n3', prompt: 'hi', maxTokens: 5, isStream: true };
    const own = readAsk(dialects[format].path(ask.model, true), JSON.stringify(dialects[format].body(ask)));
    expect(own).toMatchObject({ format, model: 'org/paced-n3', isStream: true, maxTokens: 5 });
    const request = {
      model: 'm',
      messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
      sampling: { maxOutputTokens: 5 },
    };
    const wire = codec?.encodeRequest(request, { model: 'paced-n3', stream: true, maxOutputTokens: 100 });
    const heard = readAsk(wire?.path ?? '', JSON.stringify(wire?.body));
    expect(heard).toMatchObject({ format, model: 'paced-n3', isStream: true, maxTokens: 5 });
  });
});

describe('the pace in a model name', () => {
  it('says first token, tokens, gap, tokens per write, stamp and trouble', () => {
    expect(parsePace('paced-t50-n64-g2.5-b4-stamp')).toEqual({
      firstTokenMs: 50,
      tokens: 64,
      gapMs: 2.5,
      tokensPerWrite: 4,
      isStamped: true,
      troublePercent: 100,
    });
    expect(parsePace('paced-x8-p5-e503-q32')).toMatchObject({
      cutAfter: 8,
      troublePercent: 5,
      errorStatus: 503,
      slots: 32,
    });
  });

  it('takes any other name for the default', () => {
    expect(parsePace('gpt-4o')).toEqual(parsePace('paced'));
    expect(parsePace('org/paced-n3').tokens).toBe(3);
  });

  it('hears nothing in unknown paths and broken bodies', () => {
    expect(readAsk('/v1/embeddings', '{}')).toBeUndefined();
    expect(readAsk('/v1/messages', '{')).toBeUndefined();
  });
});
