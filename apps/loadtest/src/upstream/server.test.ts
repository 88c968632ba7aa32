import { once } from 'node:events';
import { Agent, request, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeUpstream, type FakeUpstream, type UpstreamStats } from './server.ts';

let upstream: FakeUpstream;
let asked: string[];
let agent: Agent;
/** Requests that Node's own server has read. */
let readByNode: number;

beforeEach(async () => {
  asked = [];
  agent = new Agent({ keepAlive: true });
  const clock = { now: () => 1 };
  upstream = createFakeUpstream({ clock, random: () => 0, onRequest: (body) => asked.push(body) });
  readByNode = 0;
  upstream.server.on('request', () => {
    readByNode += 1;
  });
  upstream.server.listen(0, '127.0.0.1');
  await once(upstream.server, 'listening');
});
afterEach(() => {
  agent.destroy();
  upstream.stop();
});

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return address.port;
};

/** A plain request is answered past Node's server; one whose body comes in chunks is not plain. */
const ways = [
  ['a plain request', true],
  ['a request in chunks', false],
] as const;

/** The status and the whole body of an answer, as far as it came. */
async function ask(
  path: string,
  body: object | string,
  isPlain: boolean,
): Promise<{ status: number; text: string; isCut: boolean }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // Without this header, Node's client sends the length of a body that it has whole.
  const headers = isPlain ? {} : { 'transfer-encoding': 'chunked' };
  const port = portOf(upstream.server);
  const sent = request({ method: 'POST', path, port, host: '127.0.0.1', agent, headers });
  sent.end(text);
  const [message] = await once(sent, 'response');
  let received = '';
  try {
    for await (const piece of message) received += piece;
    return { status: message.statusCode, text: received, isCut: false };
  } catch {
    return { status: message.statusCode, text: received, isCut: true };
  }
}

/** The counts may follow the end that the client sees. */
const counted = (stats: Partial<UpstreamStats>) => expect.poll(() => upstream.stats).toMatchObject(stats);

describe.each(ways)('the fake upstream, asked by %s', (_name, isPlain) => {
  it.each([
    ['/v1/chat/completions', { model: 'paced-n3', stream: true }, 'data: [DONE]\n\n'],
    ['/v1/messages', { model: 'paced-n3', stream: true }, 'data: {"type":"message_stop"}\n\n'],
    ['/v1beta/models/paced-n3:streamGenerateContent?alt=sse', {}, '"responseId":"1"}\n\n'],
  ])('streams by %s', async (path, body, end) => {
    const answer = await ask(path, body, isPlain);
    expect(answer).toMatchObject({ status: 200, isCut: false });
    expect(answer.text.match(/tok\d/g)).toEqual(['tok0', 'tok1', 'tok2']);
    expect(answer.text.slice(-end.length)).toBe(end);
    expect(asked).toEqual([JSON.stringify(body)]);
    await counted({ requests: 1, active: 0, finished: 1, abandoned: 0, tokens: 3 });
  });

  it('answers in one body', async () => {
    const { status, text } = await ask('/v1/messages', { model: 'paced-n2' }, isPlain);
    expect({ status, body: JSON.parse(text) }).toMatchObject({
      status: 200,
      body: { content: [{ text: 'tok0 tok1 ' }], stop_reason: 'end_turn', usage: { output_tokens: 2 } },
    });
    await counted({ active: 0, finished: 1 });
    expect(readByNode).toBe(isPlain ? 0 : 1);
  });

  it.each([
    ['a stream', { model: 'paced-n9-x2', stream: true }],
    ['a single body', { model: 'paced-n9-x2' }],
  ])('cuts %s where the model says so', async (_kind, body) => {
    const answer = await ask('/v1/chat/completions', body, isPlain);
    expect(answer).toMatchObject({ status: 200, isCut: true });
    expect(answer.text.match(/tok\d/g)).toEqual(['tok0', 'tok1']);
    await counted({ active: 0, finished: 0, abandoned: 1 });
  });

  it('refuses what the model says, and what it does not understand', async () => {
    const failing = await ask('/v1/messages', { model: 'paced-e503' }, isPlain);
    expect(failing.status).toBe(503);
    for (const [path, body] of [
      ['/v1/nothing', {}],
      ['/v1/messages', '{"model":'],
    ] as const) {
      const { status, text } = await ask(path, body, isPlain);
      expect({ status, body: JSON.parse(text) }).toMatchObject({ status: 404, body: { error: {} } });
    }
    expect(asked).toHaveLength(1);
  });
});

it('cuts every connection when it stops', async () => {
  const body = JSON.stringify({ model: 'paced-n2-g3600000', stream: true });
  const answers = ways.map(async ([, isPlain]) => ask('/v1/chat/completions', body, isPlain));
  await expect.poll(() => upstream.stats.tokens).toBe(2);
  const closed = once(upstream.server, 'close');
  upstream.stop();
  for (const answer of await Promise.all(answers)) expect(answer.isCut).toBe(true);
  await closed;
});
