import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { SluiceError } from '@sluice/canonical';
import { createIngressMetrics, createLogger, renderMetrics } from '@sluice/runtime';
import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseBody, refuseCompressed } from '../body/read-body.ts';
import { PromptRoom } from '../guards/prompt-room.ts';
import type { Services } from '../services.ts';
import { registerBody } from './body.ts';
import { refuseBrokenHttp } from './broken-http.ts';
import { registerErrors, sendError } from './errors.ts';
import { exchangeOf, registerObservation } from './observe.ts';

const canary = 'canary-of-a-prompt';

let app: FastifyInstance;
let logged: Record<string, unknown>[];
let services: Services;

beforeEach(async () => {
  logged = [];
  const sink = new PassThrough({ encoding: 'utf8' });
  sink.on('data', (lines: string) => {
    for (const line of lines.trim().split('\n')) logged.push(JSON.parse(line));
  });
  let requests = 0;
  // What surrounds a call uses these; the rest belongs to the routes.
  services = {
    metrics: createIngressMetrics(),
    logger: createLogger({ name: 'test', level: 'info', destination: sink }),
    monotonic: () => 0,
    promptRoom: new PromptRoom(1_000_000),
    newRequestId: () => {
      requests += 1;
      return `r${requests}`;
    },
  } as unknown as Services;
  app = fastify({
    bodyLimit: 10_000,
    clientErrorHandler: refuseBrokenHttp(services),
    frameworkErrors: (error, http, reply) => sendError(error, http, reply, services),
  });
  registerObservation(app, services);
  registerErrors(app, services);
  registerBody(app, services.promptRoom);
  app.post('/v1/chat/completions', {
    onRequest: async (http) => refuseCompressed(http.headers),
    handler: async (http) => ({ got: http.body }),
  });
  app.post('/v1/messages', async () => {
    throw new SluiceError('saturated', 'the queue is full', { retryAfterMs: 2_500 });
  });
  app.post('/defect', async () => {
    throw new TypeError(canary);
  });
  app.post('/late', async (_http, reply) => {
    reply.raw.writeHead(200);
    reply.raw.write('half');
    throw new SluiceError('internal', canary);
  });
  app.get('/facts', async (http) => exchangeOf(http));
  app.post('/held', () => new Promise(() => undefined));
  app.post('/kept', async (http) => {
    services.promptRoom.take(exchangeOf(http), 'acme', 200_000);
    return {};
  });
  await app.ready();
});
afterEach(() => app.close());

/** Listens on a free port. */
async function listen(): Promise<number> {
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return address.port;
}

/** Everything that a client gets who sends these bytes over one connection. */
async function send(bytes: string): Promise<string> {
  const socket = connect(await listen(), '127.0.0.1');
  let answers = '';
  socket.on('data', (chunk) => {
    answers += String(chunk);
  });
  socket.write(bytes);
  await once(socket, 'close');
  return answers;
}

/** The head of a call, to which the headers of its body are still to be added. */
function headTo(path: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
}

/** How many requests are counted, whatever became of them. */
async function requestsTold(): Promise<number> {
  const { body } = await renderMetrics(services.metrics.registry);
  return [...body.matchAll(/^sluice_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

const post = (
  body: string | Buffer,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) => app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: body });

it('room for a prompt comes back with the end of its request, whatever that is', async () => {
  // A tenant has at most half of the room for itself: one prompt.
  for (let requests = 0; requests < 3; requests += 1)
    expect((await app.inject({ method: 'POST', url: '/kept', payload: {} })).statusCode).toBe(200);
});

describe('a body', () => {
  it.each([
    [{ 'content-type': 'application/json' }],
    [{ 'content-type': 'application/json; charset=utf-8' }],
    [{ 'content-type': 'Application/JSON' }],
    [{ 'content-type': 'application/vnd.api+json' }],
    [{ 'content-type': 'application/json', 'content-encoding': 'identity' }],
    [{ 'content-type': 'application/json', 'content-encoding': 'identity, Identity' }],
    [{ 'content-type': 'application/json', 'content-encoding': '' }],
    [{}],
  ])('is JSON: %o', async (headers) => {
    const answer = await post('{"a":[1,"é"]}', headers);
    expect([answer.statusCode, answer.json()]).toEqual([200, { got: { a: [1, 'é'] } }]);
  });

  it.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['compressed', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
    ['compressed in the end', { 'content-type': 'application/json', 'content-encoding': 'identity, gzip' }],
  ])('of another kind is refused: %s', async (_what, headers) => {
    expect((await post('{}', headers)).statusCode).toBe(415);
  });

  it.each([
    ...[
      '',
      ' ',
      ';charset=utf-8',
      'json',
      'text/plain',
      'vnd.api+json',
      '/x+json',
      'a b/c+json',
      'a/b c+json',
      'a/+',
    ],
    ...['application/json', 'application/json;', 'Application/JSON ; charset=utf-8', 'a/b+json', 'a/+json'],
    ...['application/json x', 'application/ json', 'a/b/c+json', 'undefined', 'application/json, a/b'],
  ])('of the type %j is taken or refused alike by who reads it first', async (type) => {
    const { statusCode } = await post('{}', { 'content-type': type });
    const read = () => parseBody(type, Buffer.from('{}'));
    if (statusCode === 200) expect(read()).toEqual({});
    else expect(read).toThrow(expect.objectContaining({ kind: 'unsupported-media' }));
  });

  it.each([
    ['empty', ''],
    ['no JSON', `{"${canary}":`],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['nested too deep', `${'['.repeat(201)}${']'.repeat(201)}`],
    ['nested far too deep', `${'{"a":'.repeat(1_500)}1${'}'.repeat(1_500)}`],
  ])('that cannot be read is refused, and not repeated: %s', async (_what, body) => {
    const answer = await post(body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toHaveProperty('error.message');
    expect(answer.body).not.toContain(canary);
  });

  it('that holds more values than any prompt is refused before they are made', () => {
    const zeros = (count: number) => Buffer.from(`[",,,{}[]"${',0'.repeat(count - 1)}]`);
    expect(parseBody(undefined, zeros(199_998))).toHaveLength(199_998);
    expect(() => parseBody(undefined, zeros(200_000))).toThrow(
      expect.objectContaining({ kind: 'too-large', message: expect.stringContaining('200000 JSON values') }),
    );
  });

  describe('with wide objects', () => {
    const wide = (width: number) =>
      Object.fromEntries(Array.from({ length: width }, (_, at) => [`k${at}`, ':']));
    const parse = (body: unknown) => parseBody(undefined, Buffer.from(JSON.stringify(body)));
    const tooMany = expect.objectContaining({
      kind: 'too-large',
      message: expect.stringContaining('more than 10000 beyond'),
    });

    it.each([
      ['one', (more: number) => wide(10_064 + more)],
      [
        'many',
        (more: number) => [...Array.from({ length: 99 }, () => ({ inner: wide(164) })), wide(164 + more)],
      ],
      [
        'one inside of one',
        (more: number) => ({ inner: wide(64), ...wide(5_062), last: wide(5_064 + more) }),
      ],
    ])('is read up to the limit and refused past it: %s', (_what, body) => {
      expect(parse(body(0))).toEqual(body(0));
      expect(() => parse(body(1))).toThrow(tooMany);
    });

    it('counts nothing of the rows of a table', () => {
      const rows = Array.from({ length: 1_000 }, () => wide(64));
      expect(parse({ rows })).toHaveProperty('rows.length', 1_000);
    });
  });

  it('may be nested as deep as the limit, and hold brackets in its texts', async () => {
    expect((await post(`${'['.repeat(200)}${']'.repeat(200)}`)).statusCode).toBe(200);
    expect((await post(JSON.stringify(['['.repeat(400), '\\"[[['.repeat(400)]))).statusCode).toBe(200);
  });

  it('that is too large is refused before it is read', async () => {
    expect((await post(JSON.stringify('x'.repeat(20_000)))).statusCode).toBe(413);
  });
});

describe('an error', () => {
  it('speaks the format of its caller, with its status and headers', async () => {
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      payload: '{}',
    });
    expect([answer.statusCode, answer.headers['retry-after'], answer.headers['content-type']]).toEqual([
      429,
      '3',
      'application/json',
    ]);
    expect(answer.json()).toMatchObject({ type: 'error', error: { message: 'the queue is full' } });
  });

  it('of ours keeps its text to itself, and is logged with the id that the caller has', async () => {
    const answer = await app.inject({ method: 'POST', url: '/defect', payload: '{}' });
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain(canary);
    expect(logged.find(({ msg }) => msg === 'internal error')).toMatchObject({
      requestId: answer.headers['x-request-id'],
    });
  });

  it('that comes too late for a status cuts the socket', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${await listen()}/late`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  it('says that there is nothing at a path before it looks at the body', async () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'br' };
    const answer = await app.inject({ method: 'POST', url: '/nowhere', headers, body: 'x'.repeat(20_000) });
    expect(answer.statusCode).toBe(404);
  });

  it.each([
    ['/v1/responses', {}, '/v1/chat/completions'],
    ['/v1/v1/messages', { 'anthropic-version': '2023-06-01' }, '/v1/messages'],
    ['/models/m:generateContent', { 'x-goog-api-key': 'k' }, '/v1beta/models/*'],
  ])('says where the calls of its format go: %s', async (url, headers, path) => {
    const answer = await app.inject({ method: 'POST', url, headers, body: '{}' });
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.message).toBe(`there is nothing at this path: calls go to ${path}`);
  });

  it.each([
    ['/nowhere', 404],
    ['/v1/%zz', 400],
  ])('of the framework has our form: %s', async (url, status) => {
    const answer = await app.inject({ method: 'GET', url });
    expect([answer.statusCode, typeof answer.json().error.message]).toEqual([status, 'string']);
    expect(answer.headers['x-request-id']).toMatch(/^r\d+$/);
  });

  it.each([
    ['what is no HTTP', 'GARBAGE\r\n\r\n', 400],
    ['headers without an end', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ])('answers %s', async (_what, bytes, status) => {
    const answer = await send(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('\r\nx-request-id: r1\r\nrequest-id: r1\r\n');
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toHaveProperty('error');
    expect(await requestsTold()).toBe(1);
    await expect.poll(() => logged).toMatchObject([{ msg: 'broken request', requestId: 'r1', status }]);
  });

  it.each([
    ['/v1/chat/completions', { error: { type: 'invalid_request_error' } }],
    ['/v1/messages', { type: 'error', request_id: 'r1' }],
  ])(
    'answers a request that is broken after its head as any other to %s, and counts and logs it once',
    async (path, body) => {
      const answer = await send(`${headTo(path)}transfer-encoding: chunked\r\n\r\nno length\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('\r\nx-request-id: r1\r\nrequest-id: r1\r\n');
      expect(answer).toContain('\r\nconnection: close\r\n');
      expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject(body);
      await expect
        .poll(() => logged)
        .toMatchObject([{ msg: 'request', requestId: 'r1', status: 400, outcome: 'invalid-request' }]);
      expect(await requestsTold()).toBe(1);
    },
  );

  it('tells a client whose body did not arrive in time not to send it again', async () => {
    app.server.once('request', (request) => {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      app.server.emit('clientError', late, request.socket);
    });
    const answer = await send(`${headTo('/v1/messages')}content-length: 9\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('\r\nx-should-retry: false\r\n');
  });

  const head = headTo('/v1/chat/completions');
  const body = 'content-length: 2\r\n\r\n{}';
  const whole = `${head}${body}`;

  it.each([
    ['no HTTP', [whole, 'GARBAGE\r\n\r\n'], ['200', '400']],
    ['no HTTP, behind two', [whole, whole, 'GARBAGE\r\n\r\n'], ['200', '200', '400']],
    ['broken after its head', [whole, `${head}transfer-encoding: chunked\r\n\r\nno`], ['200', '400']],
    ['a request after the last one', [`${head}connection: close\r\n${body}`, whole], ['200']],
  ])('of HTTP waits for the answers to the requests before it: %s', async (_what, requests, statuses) => {
    const answer = await send(requests.join(''));
    expect([...answer.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual(statuses);
  });

  it.each([
    ['no HTTP', 'GARBAGE\r\n\r\n'],
    ['half a request', head],
  ])('behind a request does not hide that its client leaves: %s', async (_what, bytes) => {
    const socket = connect(await listen(), '127.0.0.1').resume();
    socket.end(`${headTo('/held')}${body}${bytes}`);
    await expect.poll(() => logged).toMatchObject([{ msg: 'request', outcome: 'cancelled', status: 499 }]);
  });

  it.each([
    ['body', `${head}content-length: 9\r\n\r\n{`, { msg: 'request' }],
    ['head', head, { msg: 'broken request' }],
  ])('that ends within its %s counts as left, not as wrong', async (_part, bytes, line) => {
    const socket = connect(await listen(), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.end(bytes);
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    await expect.poll(() => logged).toMatchObject([{ ...line, outcome: 'cancelled' }]);
    expect(await requestsTold()).toBe(1);
  });

  it('sends nothing to a client that has not asked anything yet', async () => {
    const port = await listen();
    const accepted = once(app.server, 'connection');
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    app.server.emit('clientError', late, (await accepted)[0]);
    await once(socket, 'close');
    expect(answer).toBe('');
  });

  it('keeps no connection of a client that was refused and does not close its end', async () => {
    const socket = connect({ port: await listen(), host: '127.0.0.1', allowHalfOpen: true });
    const connections = () =>
      new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
    socket.resume().write('GARBAGE\r\n\r\n');
    await once(socket, 'end');
    await expect.poll(connections).toBe(0);
    socket.destroy();
  });
});

describe('every request', () => {
  it('has an id of its own, under every name that SDKs look for', async () => {
    const [first, second] = [await post('{}'), await post('{}')];
    expect([first.headers['x-request-id'], first.headers['request-id']]).toEqual(['r1', 'r1']);
    expect(second.headers['x-request-id']).toBe('r2');
  });

  it('has its facts at hand', async () => {
    const answer = await app.inject({
      method: 'GET',
      url: '/facts',
      headers: { 'anthropic-version': '2023-06-01' },
    });
    expect(answer.json()).toMatchObject({ requestId: 'r1', format: 'anthropic' });
  });

  it('is logged once, with what came of it and nothing that was said', async () => {
    await post(JSON.stringify(canary));
    await post('{');
    const lines = logged.filter(({ msg }) => msg === 'request');
    expect(lines.map(({ requestId, status, outcome }) => [requestId, status, outcome])).toEqual([
      ['r1', 200, 'ok'],
      ['r2', 400, 'invalid-request'],
    ]);
    expect(JSON.stringify(logged)).not.toContain(canary);
  });

  it('is counted once', async () => {
    await post('{}');
    await post('{');
    const { body } = await renderMetrics(services.metrics.registry);
    expect(body).toMatch(/sluice_requests_total\{[^}]*outcome="ok"[^}]*\} 1/);
    expect(body).toMatch(/sluice_requests_total\{[^}]*outcome="invalid-request"[^}]*\} 1/);
  });
});
