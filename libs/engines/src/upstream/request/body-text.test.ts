import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { askFor, runOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';
import { bodyText } from './body-text.ts';

let server: ChatServer;
beforeEach(async () => {
  server = await ChatServer.open();
});
afterEach(() => server.close());

it('a character that the client cut in two reaches the server as U+FFFD', async () => {
  const engine = createUpstreamEngine(upstreamOptions.parse({ baseUrl: server.baseUrl }), quietServices);
  await runOf(engine, askFor('[[sim tokens=1 ttft=0 gap=0]] 😀 \ud83d|\ude00 \\ud83d'));
  await engine.stop();
  expect(server.seen.at(-1)?.body).toMatchObject({
    messages: [{ content: '[[sim tokens=1 ttft=0 gap=0]] 😀 \ufffd|\ufffd \\ud83d' }],
  });
});

it('any other body is written as JSON.stringify does', () => {
  fc.assert(
    fc.property(
      fc.object({ key: fc.string({ unit: 'binary' }), values: [fc.string({ unit: 'binary' })] }),
      (body) => {
        expect(bodyText(body)).toBe(JSON.stringify(body));
      },
    ),
  );
});

it('halves of characters are replaced wherever they stand, and nothing else is', () => {
  const pieces = fc.constantFrom(
    '\\',
    '"',
    'u',
    'd',
    '\ud83d',
    '\udbff',
    '\udc00',
    '😀',
    'a',
    '\n',
    '\\ud83d',
  );
  fc.assert(
    fc.property(fc.array(pieces), (parts) => {
      const text = parts.join('');
      expect(JSON.parse(bodyText({ [text]: [text] }))).toEqual({
        [text.toWellFormed()]: [text.toWellFormed()],
      });
    }),
  );
});
