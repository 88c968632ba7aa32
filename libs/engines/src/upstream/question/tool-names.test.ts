import type { InferenceRequest } from '@sluice/canonical';
import { findClientCodec } from '@sluice/formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askFor, runOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';
import { fitToolNames } from './tool-names.ts';

const traits = (dialect: string) => {
  const codec = findClientCodec(dialect);
  if (!codec) throw new TypeError('no such dialect');
  return codec.servers;
};
const parameters = { type: 'object' };
const requestOf = (...names: string[]): InferenceRequest => ({
  model: 'm',
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: names.map((name) => ({ type: 'tool-call' as const, id: name, name, arguments: '{}' })),
    },
    {
      role: 'tool',
      content: names.map((name) => ({
        type: 'tool-result' as const,
        toolCallId: name,
        toolName: name,
        content: [],
      })),
    },
  ],
  tools: names.map((name) => ({ type: 'function' as const, name, parameters })),
  toolChoice: { type: 'required', allowed: names },
  sampling: {},
});

test('names that a server accepts are left alone, and so is everything else', () => {
  const request = requestOf('get_weather', 'get-time');
  expect(fitToolNames(request, traits('openai'))).toEqual({ request });
  const dotted = requestOf('files.read', `m${'c'.repeat(100)}`);
  expect(fitToolNames(dotted, traits('gemini'))).toEqual({ request: dotted });
});

test.each(['openai', 'anthropic', 'gemini'])(
  'a server of %s gets names that it accepts, the same everywhere',
  (dialect) => {
    const servers = traits(dialect);
    const names = fc.uniqueArray(
      fc.oneof(fc.string({ minLength: 1, maxLength: 200 }), fc.stringMatching(/^[\w.:-]{1,140}$/)),
      {
        minLength: 1,
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(names, (given) => {
        const { request, restore = (event) => event } = fitToolNames(requestOf(...given), servers);
        const said = request.tools?.map((tool) => ('name' in tool ? tool.name : '')) ?? [];
        expect(new Set(said).size).toBe(given.length);
        for (const name of said) expect(name).toMatch(servers.toolName);
        expect(request.toolChoice).toMatchObject({ allowed: said });
        const [, calls, results] = request.messages;
        expect(calls?.content.map((part) => ('name' in part ? part.name : ''))).toEqual(said);
        expect(results?.content.map((part) => ('toolName' in part ? part.toolName : ''))).toEqual(said);
        const started = said.map((name) => restore({ type: 'tool-call-start', block: 0, id: 'c', name }));
        expect(started.map((event) => ('name' in event ? event.name : ''))).toEqual(given);
      }),
    );
  },
);

test('a client of another format sees its own names, and one of this format is passed on unchanged', async () => {
  const server = await ChatServer.open();
  const options = upstreamOptions.parse({ baseUrl: server.baseUrl });
  const engine = createUpstreamEngine(options, quietServices);
  const name = `mcp__${'a_very_long_server'.repeat(4)}__tool`;
  server.answer = (response, { body }) => {
    const { tools } = body as { tools: [{ function: { name: string } }] };
    const call = { index: 0, id: 'c', type: 'function', function: { ...tools[0].function, arguments: '{}' } };
    const choice = { index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`);
  };
  const request = askFor('Hi', { tools: [{ type: 'function', name, parameters }] });
  for (const clientFormat of ['anthropic', 'openai']) {
    const events = await runOf(engine, request, { clientFormat });
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool-call-start', name }));
  }
  const said = server.seen.map(
    ({ body }) => (body as { tools: [{ function: { name: string } }] }).tools[0].function.name,
  );
  expect(said).toEqual([expect.stringMatching(/^mcp__a_very_long[\w-]{1,49}$/), name]);
  await engine.stop();
  await server.close();
});
