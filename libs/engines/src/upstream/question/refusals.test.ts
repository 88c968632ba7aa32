import type { InferenceRequest } from '@sluice/canonical';
import { findClientCodec } from '@sluice/formats';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer, type SeenRequest } from '../test-chat-server.ts';
import { Refusals } from './refusals.ts';

let server: ChatServer;
let engine: UpstreamEngine | undefined;

beforeEach(async () => {
  server = await ChatServer.open();
});
afterEach(async () => {
  await engine?.stop();
  await server.close();
});

const answers = {
  openai: {
    id: 'c',
    choices: [{ index: 0, message: { role: 'assistant', content: 'taken' }, finish_reason: 'stop' }],
  },
  anthropic: { content: [{ type: 'text', text: 'taken' }], stop_reason: 'end_turn', usage: {} },
};

/** An engine whose server refuses what `judge` names. */
function refusing(
  dialect: keyof typeof answers,
  judge: (body: SeenRequest['body']) => { status: number; message: string } | undefined,
): UpstreamEngine {
  server.answer = (response, { body }) => {
    const refusal = judge(body);
    response.writeHead(refusal?.status ?? 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(refusal ? { error: { message: refusal.message } } : answers[dialect]));
  };
  const baseUrl = dialect === 'openai' ? server.baseUrl : server.baseUrl.replace(/\/v1$/, '');
  engine = createUpstreamEngine(upstreamOptions.parse({ dialect, baseUrl }), quietServices);
  return engine;
}

function rolesOf(body: SeenRequest['body'] | undefined): unknown[] {
  return ((body?.messages ?? []) as { role: unknown }[]).map(({ role }) => role);
}

const text = (words: string) => [{ type: 'text' as const, text: words }];
/** As a coding tool of messages asks: with instructions in the middle. */
const reminded: InferenceRequest = askFor('hi', {
  messages: [
    { role: 'system', content: text('Be brief.') },
    { role: 'user', content: text('hi') },
    { role: 'system', content: text('Mind the date.'), extensions: { anthropic: { role: 'system' } } },
  ],
});
const codingTool = { clientFormat: 'anthropic' };

describe('a server whose model does not accept later instructions', () => {
  it('is understood if it refuses them in the shape of its framework, as Zhipu’s server of messages does', async () => {
    const complaint = {
      type: 'literal_error',
      loc: ['body', 'messages', 1, 'role'],
      msg: "Input should be 'user' or 'assistant'",
      input: 'system',
    };
    const asked = refusing('anthropic', () => undefined);
    server.answer = (response, { body }) => {
      const isRefused = rolesOf(body).includes('system');
      response.writeHead(isRefused ? 422 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isRefused ? { detail: [complaint] } : answers.anthropic));
    };
    expect(textOf(await runOf(asked, reminded, codingTool))).toBe('taken');
    expect(rolesOf(server.seen[1]?.body)).toEqual(['user', 'user']);
  });

  it.each([
    ['openai' as const, 400, 1],
    ['openai' as const, 500, 1],
    // MLX's server.
    ['openai' as const, 404, 1],
    ['anthropic' as const, 500, 0],
  ])(
    'gets them from the user, of %s with status %d, and from then on at once',
    async (dialect, status, head) => {
      const refusal = { status, message: 'Jinja Exception: System message must be at the beginning.' };
      const asked = refusing(dialect, (body) =>
        rolesOf(body).slice(head).includes('system') ? refusal : undefined,
      );
      expect(textOf(await runOf(asked, reminded, codingTool))).toBe('taken');
      expect(rolesOf(server.seen[1]?.body).slice(head)).toEqual(['user', 'user']);
      for (const seen of [3, 4]) {
        expect(textOf(await runOf(asked, reminded, codingTool))).toBe('taken');
        expect(server.seen).toHaveLength(seen);
      }
    },
  );

  it('that fails for another reason fails', async () => {
    const asked = refusing('openai', () => ({ status: 500, message: 'out of memory' }));
    expect(await runOf(asked, reminded, codingTool)).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed' } },
    ]);
    expect(server.seen).toHaveLength(1);
  });
});

it('a server that accepts other efforts gets the nearest, for a client that cannot know them', async () => {
  const message = "reasoning_effort: Input should be 'low', 'medium' or 'high'";
  const asked = refusing('openai', ({ reasoning_effort }) =>
    reasoning_effort === 'xhigh' ? { status: 400, message } : undefined,
  );
  const hard = askFor('hi', { reasoning: { effort: 'xhigh' } });
  expect(textOf(await runOf(asked, hard, codingTool))).toBe('taken');
  expect(server.seen[1]?.body.reasoning_effort).toBe('high');
  // What was learned of one effort does not change another, and a client of the dialect is passed on unchanged.
  await runOf(asked, askFor('hi', { reasoning: { effort: 'low' } }), codingTool);
  expect(server.seen[2]?.body.reasoning_effort).toBe('low');
  expect(await runOf(asked, hard, { clientFormat: 'openai' })).toMatchObject([
    { type: 'error', error: { kind: 'invalid-request' } },
  ]);
});

it('a server that wants the opposite of what it has just refused is not asked in circles', async () => {
  const noTools = "Function tools with reasoning_effort are not supported. Set reasoning_effort to 'none'.";
  const noNone = "Unsupported value: 'none'. Supported values of reasoning_effort are: 'low' and 'high'.";
  const asked = refusing('openai', ({ reasoning_effort: effort, tools }) => {
    if (effort === 'none') return { status: 400, message: noNone };
    return tools === undefined ? undefined : { status: 400, message: noTools };
  });
  const tools = [{ type: 'function' as const, name: 'f', parameters: { type: 'object' } }];
  const hard = askFor('hi', { reasoning: { effort: 'high' }, tools });
  const error = { kind: 'invalid-request', message: noTools };
  expect(await runOf(asked, hard, codingTool)).toMatchObject([{ type: 'error', error }]);
  expect(server.seen.map(({ body }) => body.reasoning_effort)).toEqual(['high', 'none', 'low']);
});

it('a server that forces no call while its model thinks forces it as soon as the model does not', async () => {
  const message = 'Thinking mode does not support this tool_choice';
  const asked = refusing('openai', ({ reasoning_effort: effort, tool_choice: choice }) =>
    effort !== 'none' && choice !== undefined ? { status: 400, message } : undefined,
  );
  const forced = (effort: 'high' | 'none') =>
    askFor('hi', {
      reasoning: { effort },
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
      toolChoice: { type: 'required' },
    });
  expect(textOf(await runOf(asked, forced('high'), codingTool))).toBe('taken');
  await runOf(asked, forced('none'), codingTool);
  expect(server.seen[2]?.body.tool_choice).toBe('required');
  await runOf(asked, forced('high'), codingTool);
  expect(server.seen).toHaveLength(4);
});

describe('a server that takes no stop strings', () => {
  const message = 'Argument not supported on this model: stop';
  const until = (...stopSequences: string[]) => askFor('hi', { sampling: { stopSequences } });

  it.each(['anthropic', 'openai'])(
    'answers up to them nevertheless, for a client of %s, and from then on at once',
    async (clientFormat) => {
      const asked = refusing('openai', ({ stop }) =>
        stop === undefined ? undefined : { status: 400, message },
      );
      for (const seen of [2, 3]) {
        const events = await runOf(asked, until('k'), { clientFormat });
        expect(textOf(events)).toBe('ta');
        expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'stop', stopSequence: 'k' });
        expect(server.seen).toHaveLength(seen);
      }
      expect(textOf(await runOf(asked, askFor('hi'), { clientFormat }))).toBe('taken');
    },
  );

  it('is told apart from one that refuses another thing besides', async () => {
    const user = 'user: Extra inputs are not permitted';
    const asked = refusing('openai', (body) => {
      if (body.user !== undefined) return { status: 400, message: user };
      return body.stop === undefined ? undefined : { status: 400, message };
    });
    const request = { ...until('a', 'b', 'c', 'd', 'e'), endUser: 'u' };
    expect(textOf(await runOf(asked, request, codingTool))).toBe('t');
    expect(server.seen).toHaveLength(3);
  });

  it('fails if the refusal is about one stop string', async () => {
    const asked = refusing('openai', () => ({ status: 400, message: "'stop' must not be empty" }));
    expect(await runOf(asked, until('k'))).toMatchObject([{ type: 'error' }]);
    expect(server.seen).toHaveLength(1);
  });
});

it('a server that demands strings, an older role and short ids gets all three, learned one after the other', async () => {
  const asked = refusing('openai', (body) => {
    const messages = body.messages as { role: string; content: unknown; tool_call_id?: string }[];
    if (messages.some(({ role }) => role === 'developer')) {
      return { status: 400, message: 'messages[0].role: unknown variant `developer`' };
    }
    if (messages.some(({ content }) => Array.isArray(content))) {
      return { status: 422, message: 'messages[0]: invalid type: sequence, expected a string' };
    }
    const isLong = messages.some(({ tool_call_id: id }) => id !== undefined && id.length !== 9);
    const message = 'Tool call id was toolu_1 but must be a-z, A-Z, 0-9, with a length of 9.';
    return isLong ? { status: 400, message } : undefined;
  });
  const conversation = askFor('hi', {
    messages: [
      {
        role: 'system',
        content: [...text('One.'), ...text('Two.')],
        extensions: { openai: { role: 'developer' } },
      },
      { role: 'user', content: text('hi') },
      { role: 'assistant', content: [{ type: 'tool-call', id: 'toolu_1', name: 'f', arguments: '{}' }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'toolu_1', content: text('done') }] },
    ],
  });
  expect(textOf(await runOf(asked, conversation))).toBe('taken');
  expect(server.seen).toHaveLength(4);
  expect(textOf(await runOf(asked, conversation))).toBe('taken');
  expect(server.seen).toHaveLength(5);
  expect(server.seen[4]?.body.messages).toMatchObject([
    { role: 'system', content: 'One.\n\nTwo.' },
    {},
    {},
    {},
  ]);
});

describe('a refusal that quotes its caller', () => {
  const sorry = 'top_k and "temperature" are not supported';
  const calls = (id: string): InferenceRequest =>
    askFor('hi', {
      messages: [
        { role: 'user', content: text('hi') },
        { role: 'assistant', content: [{ type: 'tool-call', id, name: 'f', arguments: '{}' }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, content: text('done') }] },
      ],
    });
  /** Quotes as Mistral's API does. */
  const quoting = (quote: (id: string) => string) =>
    refusing('openai', (body) => {
      const messages = body.messages as { tool_call_id?: string }[];
      const long = messages.find(({ tool_call_id: id }) => id !== undefined && id.length !== 9)?.tool_call_id;
      const message = `Tool call id was ${quote(long ?? '')} but must be a-z, A-Z, 0-9, with a length of 9.`;
      return long === undefined ? undefined : { status: 400, message };
    });

  it.each([
    ['whole', sorry, (id: string) => id],
    ['by its beginning', `${sorry} at all`, (id: string) => `${id.slice(0, sorry.length)}…`],
    ['by its end', `Yet ${sorry}`, (id: string) => `…${id.slice(-sorry.length)}`],
  ])('%s teaches what the server says, and nothing that the caller does', async (_how, id, quote) => {
    const asked = quoting(quote);
    expect(textOf(await runOf(asked, calls(id), codingTool))).toBe('taken');
    await runOf(asked, askFor('hi', { sampling: { temperature: 0.5, topK: 7 } }), codingTool);
    expect(server.seen.at(-1)?.body).toMatchObject({ temperature: 0.5, top_k: 7 });
    const before = server.seen.length;
    expect(textOf(await runOf(asked, calls('toolu_2'), codingTool))).toBe('taken');
    expect(server.seen).toHaveLength(before + 1);
  });

  it.each([
    ['a text', 'unsupported: no system role not supported'],
    ['a name', { 'unsupported: no system role not supported': 1 }],
    ['a single word', 'stream_options_unknown'],
  ])('in %s of a field that it does not take teaches nothing either', async (_what, topK) => {
    // In the words of vLLM, which show the value of a field.
    const asked = refusing('openai', ({ top_k: wrong }) => {
      const message = `[{'loc': ('body', 'top_k'), 'msg': 'not a valid integer', 'input': ${JSON.stringify(wrong)}}]`;
      return wrong === undefined ? undefined : { status: 400, message };
    });
    const odd = askFor('hi', { extensions: { openai: { top_k: topK } } });
    expect(textOf(await runOf(asked, odd, { clientFormat: 'openai' }))).toBe('taken');
    await runOf(asked, reminded, { clientFormat: 'openai' });
    expect(server.seen.at(-1)?.body).toHaveProperty('stream_options');
    expect(rolesOf(server.seen.at(-1)?.body)).toEqual(['system', 'user', 'system']);
  });
});

it('a conversation that another server signed goes on without, and no other conversation does', async () => {
  const signedBy = (signature: string) =>
    askFor('hi', {
      messages: [
        { role: 'user', content: text('hi') },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm.', extensions: { anthropic: { signature } } },
            ...text('Well'),
          ],
        },
        { role: 'user', content: text('go on') },
      ],
    });
  const asked = refusing('anthropic', ({ messages }) => {
    const isForeign = JSON.stringify(messages).includes('theirs');
    const message = 'messages.1.content.0: Invalid `signature` in `thinking` block';
    return isForeign ? { status: 400, message } : undefined;
  });
  expect(textOf(await runOf(asked, signedBy('theirs'), codingTool))).toBe('taken');
  expect(server.seen.at(-1)?.body.messages).toMatchObject([{}, { content: text('Well') }, {}]);
  expect(textOf(await runOf(asked, signedBy('ours'), codingTool))).toBe('taken');
  expect(server.seen).toHaveLength(3);
  expect(server.seen[2]?.body.messages).toMatchObject([{}, { content: [{ signature: 'ours' }, {}] }, {}]);
});

it('does not remember without limit what servers behind one address refuse of each other', () => {
  const codec = findClientCodec('openai');
  if (!codec) throw new Error('no codec');
  const refusals = new Refusals(codec);
  const question = { request: askFor('hi'), stops: [] };
  const emit = () => undefined;
  const run = { id: 'r', backendModel: 'm', clientFormat: 'anthropic', signal: AbortSignal.any([]), emit };
  let known = 0;
  for (let asked = 0; asked < 100; asked += 1) {
    const [body, taken] = asked % 2 === 0 ? ['high', "'low' or 'medium'"] : ['medium', "'high' or 'max'"];
    const words = `reasoning_effort must be ${taken}`;
    const next = refusals.after(words, { reasoning_effort: body ?? '' }, question, run);
    if (next) refusals.learn(next, run);
    known = next?.refusals?.length ?? 0;
  }
  expect(known).toBe(32);
});
