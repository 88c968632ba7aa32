import { collect, type GenerationEvent } from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClientCall } from '../codec.ts';
import { encodeStream, wireOf } from '../golden-run.ts';
import { formats } from '../registry.ts';
import { parseExactly } from './exact-numbers.ts';

const text = '{"channel":1234567890123456789,"list":[-98765432109876543210,1e400],"small":7,"share":0.1}';

describe('a number past 2^53', () => {
  it.each(formats.map((format) => [format.client.format, format] as const))(
    'of a call is the same for a client and for a server of %s',
    (_dialect, format) => {
      const call: ClientCall = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: { sse: true } };
      const events: GenerationEvent[] = [
        { type: 'start', id: 'g', model: 'm', createdAt: 0 },
        { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
        { type: 'tool-call-delta', block: 0, arguments: text },
        { type: 'tool-call-end', block: 0 },
        { type: 'finish', reason: 'tool-calls', usage: {} },
      ];
      const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }];
      const messages = [
        { role: 'user', content: 'go' },
        { role: 'assistant', tool_calls },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ];
      const chat = formats.find(({ server }) => server.format === 'openai')?.server;
      const history = chat?.decodeRequest(wireOf('openai', '/chat/completions', { model: 'm', messages }));
      const asked =
        history &&
        format.client.encodeRequest(history.request, { model: 'm', stream: true, maxOutputTokens: 9 });
      const unescaped = (json: string) => json.replaceAll('\\"', '"');
      expect(unescaped(JSON.stringify(format.server.encodeResponse([collect(events)], call)))).toContain(
        text,
      );
      expect(unescaped(encodeStream(format, call, [events]))).toContain(text);
      expect(unescaped(JSON.stringify(asked?.body))).toContain(text);
    },
  );
});

it.each(['1e999', '-1E+400', '12345678901234567', '9007199254740993', '1.5e400', '[1e400,2]'])(
  'is written as it was in %s',
  (text) => expect(JSON.stringify(parseExactly(text))).toBe(text),
);

it.each(['9007199254740991', '0.1234567890123456', '1e15', '1e+100', '1234567890123456000'])(
  'is an ordinary number if a double holds all of it: %s',
  (text) => expect(parseExactly(text)).toBe(Number(text)),
);

it('any other JSON is read as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value = parseExactly(json);
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(json)));
    }),
  );
});
