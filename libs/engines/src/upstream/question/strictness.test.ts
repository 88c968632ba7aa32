import type { ServerResponse } from 'node:http';
import type { FunctionTool } from '@sluice/canonical';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';

let server: ChatServer;
let engine: UpstreamEngine;

beforeEach(async () => {
  server = await ChatServer.open();
  engine = createUpstreamEngine(upstreamOptions.parse({ baseUrl: server.baseUrl }), quietServices);
});
afterEach(async () => {
  await engine.stop();
  await server.close();
});

const choice = { index: 0, message: { role: 'assistant', content: 'taken' }, finish_reason: 'stop' };
const say = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** A server that refuses strict functions with these words. */
function refuse(message: string): void {
  server.answer = (response) =>
    strictness(server.seen.length - 1).includes(true)
      ? say(response, 400, { error: { message } })
      : say(response, 200, { id: 'c', choices: [choice] });
}

/** The strictness of each function in a request that the server has seen. */
function strictness(request: number): unknown[] {
  const tools = (server.seen[request]?.body.tools ?? []) as { function: { strict?: boolean } }[];
  return tools.map((tool) => tool.function.strict);
}

const tool = (name: string, strict?: boolean): FunctionTool => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: { days: { type: 'integer' } } },
  ...(strict !== undefined && { strict }),
});
const asked = askFor('hi', { tools: [tool('f', true), tool('g')] });
const foreign = { clientFormat: 'anthropic' };
const openaiWords =
  "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'days'.";

describe('a server that cannot enforce a schema', () => {
  it.each([
    openaiWords,
    'tools.0.custom: Circular reference detected in schema definitions',
    'Too many strict tools (21). The maximum number of strict tools supported is 20.',
    'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.',
    'Schemas contains too many parameters with union types',
    'Schema is too complex for compilation.',
  ])('is asked for calls that are not strict: %s', async (words) => {
    refuse(words);
    expect(textOf(await runOf(engine, asked, foreign))).toBe('taken');
    expect(server.seen.map((_, request) => strictness(request))).toEqual([
      [true, undefined],
      [undefined, undefined],
    ]);
    // The next request may have functions that the server can enforce.
    await runOf(engine, asked, foreign);
    expect(strictness(2)).toEqual([true, undefined]);
  });

  it.each([
    ['of a client that speaks its dialect', asked, { clientFormat: 'openai' }, openaiWords],
    ['without a strict function', askFor('hi', { tools: [tool('f', false)] }), foreign, openaiWords],
    ['that is wrong otherwise', asked, foreign, 'messages: at least one message is required'],
  ])('has its refusal passed on of a request %s', async (_, request, run, message) => {
    server.answer = (response) => say(response, 400, { error: { message } });
    expect(await runOf(engine, request, run)).toMatchObject([{ type: 'error', error: { message } }]);
    expect(server.seen).toHaveLength(1);
  });
});
