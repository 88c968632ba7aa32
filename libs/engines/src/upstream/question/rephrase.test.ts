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

/** A server that refuses each of these fields with these words, and answers a request without any of them. */
function refuse(fields: Record<string, string>): void {
  server.answer = (response, { body }) => {
    response.setHeader('content-type', 'application/json');
    const found = Object.keys(fields).find((field) => field in body);
    const message = found && fields[found];
    if (message) {
      response.writeHead(400).end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
      return;
    }
    const choice = { index: 0, message: { role: 'assistant', content: 'taken' }, finish_reason: 'stop' };
    response.end(JSON.stringify({ id: 'c', choices: [choice] }));
  };
}

const words = {
  stream_options: 'Unrecognized request argument supplied: stream_options',
  max_tokens:
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
};
const taken = {
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'taken' }, finish_reason: 'stop' }],
};

/** Refuses a conversation because of the thinking in its answers. */
function converse(judge: (thoughts: unknown[]) => string | undefined): void {
  server.answer = (response, { body }) => {
    const message = judge(thoughtsOf(body));
    response.writeHead(message ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(message ? { error: { message } } : taken));
  };
}

function thoughtsOf(body: Record<string, unknown> | undefined, name = 'reasoning_content'): unknown[] {
  const messages = (body?.messages ?? []) as Record<string, unknown>[];
  return messages.filter(({ role }) => role === 'assistant').map((answer) => answer[name]);
}

const conversation = askFor('hi', {
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'Yes?' },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'go on' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Well.' }] },
    { role: 'user', content: [{ type: 'text', text: 'and?' }] },
  ],
});
const limited = askFor('hi', { sampling: { maxOutputTokens: 50 } });

describe('a server that does not accept a field of its dialect', () => {
  it('is asked with another, and from then on at once', async () => {
    refuse(words);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen).toHaveLength(3);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen).toHaveLength(4);
    expect(server.seen[3]?.body).toMatchObject({ stream: true, max_completion_tokens: 50 });
    expect(server.seen[3]?.body).not.toHaveProperty('max_tokens');
    // Another model may be on another server.
    await runOf(engine, limited, { backendModel: 'other' });
    expect(server.seen[4]?.body).toHaveProperty('stream_options');
  });

  it('is asked for a whole answer if it streams none', async () => {
    server.answer = (response, { body }) => {
      const message = 'Your organization must be verified to stream this model.';
      response.writeHead(body.stream ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body.stream ? { error: { message } } : taken));
    };
    for (const calls of [2, 3]) {
      expect(textOf(await runOf(engine, limited))).toBe('taken');
      expect(server.seen).toHaveLength(calls);
    }
  });

  it('is left to decide about a call that none behind a router can be forced to, and that it answers 404 to', async () => {
    const message = "No endpoints found that support the provided 'tool_choice' value. To learn more, visit";
    server.answer = (response, { body }) => {
      const isRefused = 'tool_choice' in body;
      response.writeHead(isRefused ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isRefused ? { error: { message, code: 404 } } : taken));
    };
    const forced = askFor('hi', {
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
      toolChoice: { type: 'required' },
    });
    for (const calls of [2, 3]) {
      expect(textOf(await runOf(engine, forced, { clientFormat: 'anthropic' }))).toBe('taken');
      expect(server.seen).toHaveLength(calls);
    }
  });

  it('gets no top_k if it does not know the field', async () => {
    refuse({ top_k: "property 'top_k' is unsupported" });
    const narrow = askFor('hi', { sampling: { topK: 64, temperature: 1 } });
    expect(textOf(await runOf(engine, narrow))).toBe('taken');
    expect(server.seen[1]?.body).toMatchObject({ temperature: 1 });
    refuse({ top_k: 'top_k: must be at most 40' });
    expect(await runOf(engine, narrow, { backendModel: 'other' })).toMatchObject([{ type: 'error' }]);
  });

  it.each([
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    'messages.1.assistant.reasoning_content: Extra inputs are not permitted',
    "Unknown parameter: 'messages[1].reasoning_content'.",
  ])('gets no thinking if it accepts none back: %s', async (refusal) => {
    converse((thoughts) => (thoughts.some((thought) => thought !== undefined) ? refusal : undefined));
    expect(textOf(await runOf(engine, conversation))).toBe('taken');
    expect(thoughtsOf(server.seen[1]?.body)).toEqual([undefined, undefined]);
    expect(thoughtsOf(server.seen[1]?.body, 'reasoning')).toEqual(['Hm.', undefined]);
    await runOf(engine, conversation);
    expect(server.seen).toHaveLength(3);
  });

  it('gets no thinking by either name if it accepts none at all', async () => {
    server.answer = (response, { body }) => {
      const name = ['reasoning_content', 'reasoning'].find((word) => thoughtsOf(body, word).includes('Hm.'));
      const message = name && `messages.1.assistant.${name}: Extra inputs are not permitted`;
      response.writeHead(message ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(message ? { error: { message } } : taken));
    };
    expect(textOf(await runOf(engine, conversation))).toBe('taken');
    expect(server.seen).toHaveLength(3);
    await runOf(engine, conversation);
    expect(server.seen).toHaveLength(4);
  });

  it.each([
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 3',
  ])('gets a thought in every answer if it misses one: %s', async (refusal) => {
    converse((thoughts) => (thoughts.includes(undefined) ? refusal : undefined));
    expect(textOf(await runOf(engine, conversation))).toBe('taken');
    expect(thoughtsOf(server.seen[1]?.body)).toEqual(['Hm.', '']);
    await runOf(engine, conversation);
    expect(server.seen).toHaveLength(3);
  });

  it('is told apart from one that quotes its client, from which nothing is learned', async () => {
    refuse({ odd: 'odd: "stream_options" is not allowed' });
    const odd = askFor('hi', { extensions: { openai: { odd: 'stream_options' } } });
    expect(await runOf(engine, odd)).toMatchObject([{ type: 'error', error: { kind: 'invalid-request' } }]);
    expect(server.seen).toHaveLength(2);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen[2]?.body).toHaveProperty('stream_options');
  });

  it('is not asked for ever', async () => {
    server.answer = (response) =>
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: Object.values(words).join() } }));
    expect(await runOf(engine, limited)).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request' } },
    ]);
    expect(server.seen).toHaveLength(3);
  });
});

/** What Mistral's API refuses, in its words; absent for a body that it takes. */
function mistralRefusal(body: Record<string, unknown>): string | undefined {
  const messages = body.messages as Record<string, unknown>[];
  const unknownField = ['stream_options', 'reasoning_effort', 'user', 'top_k'].find((name) => name in body);
  if (unknownField) return `${unknownField}: Extra inputs are not permitted`;
  for (const [index, message] of messages.entries()) {
    const thinking = ['reasoning_content', 'reasoning'].find((name) => name in message);
    if (thinking) return `messages.${index}.assistant.${thinking}: Extra inputs are not permitted`;
    const before = String(messages[index - 1]?.role);
    const refused = { system: ['user', 'assistant', 'tool'], user: ['tool'] }[String(message.role)];
    if (refused?.includes(before)) return `Unexpected role '${message.role}' after role '${before}'`;
    const [call] = (message.tool_calls ?? []) as { id: string }[];
    if (call && !/^[a-zA-Z0-9]{9}$/.test(call.id))
      return `Tool call id was ${call.id} but must be a-z, A-Z, 0-9, with a length of 9.`;
  }
  return undefined;
}

it('a server as strict as Mistral’s answers a coding tool in the middle of its work', async () => {
  server.answer = (response, { body }) => {
    const message = mistralRefusal(body);
    response.writeHead(message ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(message ? { message, type: 'invalid_request_error' } : taken));
  };
  const text = (words: string) => [{ type: 'text' as const, text: words }];
  const request = askFor('', {
    sampling: { topK: 40 },
    reasoning: { effort: 'high' },
    endUser: 'u',
    messages: [
      { role: 'system', content: text('Be brief.') },
      { role: 'user', content: text('hi') },
      { role: 'system', content: text('Use tools.') },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'tool-call', id: 'toolu_01', name: 'look', arguments: '{}' },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'toolu_01', content: text('seen') }] },
      { role: 'user', content: text('and?') },
    ],
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }],
  });
  expect(textOf(await runOf(engine, request, { clientFormat: 'anthropic' }))).toBe('taken');
  const asked = server.seen.length;
  expect(textOf(await runOf(engine, request, { clientFormat: 'anthropic' }))).toBe('taken');
  expect(server.seen).toHaveLength(asked + 1);
});

describe('a Claude that wants the user last', () => {
  const refusal =
    'This model does not support assistant message prefill. The conversation must end with a user message.';
  const message = {
    type: 'message',
    content: [{ type: 'text', text: 'taken' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 1 },
  };
  const answered = askFor('hi', {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
    ],
  });
  const foreign = { clientFormat: 'openai' };
  let claude: UpstreamEngine;

  beforeEach(() => {
    const options = { dialect: 'anthropic', baseUrl: server.baseUrl, resume: 'prefix' };
    claude = createUpstreamEngine(upstreamOptions.parse(options), quietServices);
    server.answer = (response, { body }) => {
      const turns = body.messages as { role: string }[];
      const isRefused = turns.at(-1)?.role === 'assistant';
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
      const error = { type: 'invalid_request_error', message: refusal };
      response.end(JSON.stringify(isRefused ? { type: 'error', error } : message));
    };
  });
  afterEach(() => claude.stop());

  it('is asked for the next answer, but never to continue one that was lost', async () => {
    expect(textOf(await runOf(claude, answered, foreign))).toBe('taken');
    expect(server.seen).toHaveLength(2);
    const resume = { content: [{ type: 'text' as const, text: 'Once upon' }], outputTokens: 2 };
    const events = await runOf(claude, askFor('hi'), { ...foreign, resume });
    expect(events).toMatchObject([{ type: 'error', error: { detail: 'worker-lost' } }]);
    expect(server.seen).toHaveLength(3);
  });
});
