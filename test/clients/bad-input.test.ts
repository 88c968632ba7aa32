import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Json } from '@sluice/canonical';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Format, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { exchangeRaw, type RawAnswer, rawRequest } from '../support/raw-http.ts';
import { oddities, type Place, placesOf, richBodies, withValueAt } from './odd-bodies.ts';

const bodyLimit = 256 * 1024;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { SLUICE_BODY_LIMIT_BYTES: String(bodyLimit) } });
});
afterAll(() => gateway.stop());

const paths: Record<Format, string> = {
  openai: '/v1/chat/completions',
  anthropic: '/v1/messages',
  gemini: '/v1beta/models/sim:generateContent',
};
/** A header by which each format's clients are recognized on paths that several formats share. */
const signs: Record<Format, Record<string, string>> = {
  openai: {},
  anthropic: { 'anthropic-version': '2023-06-01' },
  gemini: { 'x-goog-api-client': 'test' },
};
const plain: Record<Format, (text: string) => Json> = {
  openai: (content) => ({ model: 'sim', messages: [{ role: 'user', content }] }),
  anthropic: (content) => ({ model: 'sim', max_tokens: 9, messages: [{ role: 'user', content }] }),
  gemini: (text) => ({ contents: [{ parts: [{ text }] }] }),
};
const prompt = '[[sim tokens=1 ttft=0 gap=0]]';

async function post(
  format: Format,
  body: string | Buffer,
  headers: Record<string, string> = {},
  path = paths[format],
): Promise<RawAnswer> {
  return request('POST', path, { 'content-type': 'application/json', ...headers }, body);
}

async function request(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<RawAnswer> {
  const response = await fetch(gateway.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${gateway.apiKey}`, ...headers },
    // Buffer is a Uint8Array over a plain ArrayBuffer here.
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

/** Checks that an answer is an error as this format's clients read it. */
function expectError(format: Format, answer: RawAnswer, status: number): void {
  const body: unknown = JSON.parse(answer.body);
  const message = expect.stringMatching(/./);
  const id = expect.stringMatching(/\w{8,}/);
  expect(answer).toMatchObject({
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': id, 'request-id': id },
  });
  if (format === 'openai') {
    expect(body).toMatchObject({ error: { message, type: expect.any(String) } });
    expect(body).toHaveProperty('error.param');
    expect(body).toHaveProperty('error.code');
  } else if (format === 'anthropic') {
    expect(body).toEqual({ type: 'error', error: { type: expect.any(String), message }, request_id: id });
  } else {
    expect(body).toMatchObject({
      error: { code: status, message, status: expect.stringMatching(/^[A-Z_]+$/) },
    });
  }
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe.each(formats)('%s refuses in its own words', (format) => {
  const whole = JSON.stringify(plain[format](prompt));

  it.each([
    { what: 'another content type', headers: { 'content-type': 'text/plain' }, status: 415 },
    { what: 'a form', headers: { 'content-type': 'multipart/form-data; boundary=x' }, status: 415 },
    { what: 'a content type of no sense', headers: { 'content-type': 'json' }, status: 415 },
    { what: 'an encoding that it does not read', headers: { 'content-encoding': 'br' }, status: 415 },
    {
      what: 'a charset that is no news',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      status: 200,
    },
  ])('$what', async ({ headers, status }) => {
    const answer = await post(format, whole, headers);
    if (status === 200) expect(answer.status).toBe(200);
    else expectError(format, answer, status);
  });

  it('a compressed body', async () => {
    expectError(format, await post(format, gzipSync(whole), { 'content-encoding': 'gzip' }), 415);
  });

  it.each([
    { what: 'an empty body', body: '' },
    { what: 'blanks', body: '  \n' },
    { what: 'half a body', body: '{"model": "si' },
    { what: 'two bodies', body: '{}{}' },
    { what: 'text', body: 'tell me a story' },
    { what: 'null', body: 'null' },
    { what: 'a number', body: '7' },
    { what: 'a string', body: '"hello"' },
    { what: 'a list', body: '[]' },
    { what: 'an empty object', body: '{}' },
    { what: 'bytes that are no UTF-8', body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]) },
    { what: 'nesting without end', body: nested(300) },
    { what: 'nesting far beyond a stack', body: nested(100_000) },
    { what: 'nesting that never closes', body: '['.repeat(100_000) },
  ])('$what', async ({ body }) => {
    const answer = await post(format, body);
    expect(answer.status).toBe(400);
    // The place of a mistake may be named, so `param` is not always null.
    expect(JSON.parse(answer.body)).toMatchObject({ error: { message: expect.stringMatching(/./) } });
    expect(answer.body).not.toContain('story');
  });

  it('nesting beside what it reads, and not what stands in a string', async () => {
    const deep = whole.replace(/\}$/, `,"extra":${nested(300)}}`);
    expectError(format, await post(format, deep), 400);
    const text = JSON.stringify(plain[format](`${prompt} ${nested(300)}`));
    expect((await post(format, text)).status).toBe(200);
  });

  it('a body over the limit, announced or not', async () => {
    const body = JSON.stringify(plain[format]('x'.repeat(bodyLimit)));
    const headers = { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' };
    const [announced] = await exchangeRaw(gateway.baseUrl, [
      rawRequest(`POST ${paths[format]}`, { ...headers, connection: 'close' }, body),
    ]);
    if (!announced) throw new TypeError('expected an answer');
    expectError(format, announced, 413);
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const [streamed] = await exchangeRaw(gateway.baseUrl, [
      rawRequest(`POST ${paths[format]}`, {
        ...headers,
        'transfer-encoding': 'chunked',
        connection: 'close',
      }),
      ...Array.from({ length: 6 }, () => chunk),
      '0\r\n\r\n',
    ]);
    if (!streamed) throw new TypeError('expected an answer');
    expectError(format, streamed, 413);
  });

  it('a stranger before it reads the body', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      rawRequest(`POST ${paths[format]}`, {
        authorization: 'Bearer sk-wrong',
        'content-type': 'application/json',
        'content-length': '100000',
        connection: 'close',
      }),
    ]);
    if (!answer) throw new TypeError('expected an answer');
    expectError(format, answer, 401);
  });

  it('no body', async () => {
    for (const framing of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }, {}]) {
      const headers = { authorization: `Bearer ${gateway.apiKey}`, ...framing, connection: 'close' };
      const rest = 'transfer-encoding' in framing ? '0\r\n\r\n' : '';
      const [answer] = await exchangeRaw(gateway.baseUrl, [
        rawRequest(`POST ${paths[format]}`, headers) + rest,
      ]);
      if (!answer) throw new TypeError('expected an answer');
      expectError(format, answer, 400);
      expect(answer.body).toContain('the body is empty');
    }
  });

  it('a request without a host', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      `POST ${paths[format]} HTTP/1.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
    ]);
    if (!answer) throw new TypeError('expected an answer');
    expectError(format, answer, 400);
  });

  it('no key, an empty key and a key that is no key', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer ', 'Basic eDp5', `Bearer ${'k'.repeat(8_000)}`]) {
      expectError(format, await post(format, whole, { authorization }), 401);
    }
  });

  it('methods that a path does not take, and says which it takes', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY', 'PROPFIND']) {
      const answer = await request(method, paths[format], signs[format]);
      expectError(format, answer, 405);
      expect(answer.headers.allow?.split(', ')).toContain('POST');
    }
    const read = await request('GET', paths[format], signs[format]);
    expectError(format, read, 405);
    expect(read.headers.allow).toBe('POST');
    const list = format === 'gemini' ? '/v1beta/models' : '/v1/models';
    for (const path of [list, `${list}/sim`]) {
      const answer = await request('DELETE', path, signs[format]);
      expectError(format, answer, 405);
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
  });

  it('paths that are not there', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/nothing',
      '/v2/chat/completions',
      '/%2e%2e/etc/passwd',
      '/v1/models/',
    ]) {
      const answer = await request('GET', path, signs[format]);
      expectError(format, answer, 404);
    }
    const action = await post(format, whole, signs[format], '/v1beta/models/sim:danceContent');
    expectError('gemini', action, 404);
  });

  it('paths whose percent-encoding is broken', async () => {
    const broken = ['/v1/models/%zz', '/v1/models/%E0%A4%A', '/v1/%', '/%ff%fe'];
    for (const path of broken) {
      const [answer] = await exchangeRaw(gateway.baseUrl, [
        rawRequest(`GET ${path}`, {
          ...signs[format],
          authorization: `Bearer ${gateway.apiKey}`,
          connection: 'close',
        }),
      ]);
      if (!answer) throw new TypeError('expected an answer');
      expect([400, 404]).toContain(answer.status);
      expectError(format, answer, answer.status);
    }
  });

  it('models that only a prototype has', async () => {
    for (const model of [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '',
      ' ',
      'x'.repeat(3_000),
      '\u0000',
      '../sim',
    ]) {
      const answer =
        format === 'gemini'
          ? await post(format, whole, {}, `/v1beta/models/${encodeURIComponent(model)}:generateContent`)
          : await post(format, JSON.stringify({ ...JSON.parse(whole), model }));
      expect([400, 404]).toContain(answer.status);
      expect(JSON.parse(answer.body)).toMatchObject({ error: { message: expect.stringMatching(/./) } });
    }
  });
});

describe.each(formats)('%s serves what is only strange', (format) => {
  const textOf = (answer: RawAnswer) => ({ status: answer.status, hasText: answer.body.length > 50 });

  it.each([
    { what: 'a lone surrogate', text: `${prompt} "\ud800"` },
    { what: 'a surrogate pair in reverse order', text: `${prompt} \udc00\ud800` },
    { what: 'a zero character', text: `${prompt} \u0000` },
    { what: 'text of all directions', text: `${prompt} \u202e שלום 👩‍👩‍👧‍👦 e\u0301` },
    { what: 'line separators', text: `${prompt}\u2028\u2029\r\ndata: [DONE]\r\n\r\n` },
  ])('$what', async ({ text }) => {
    expect(textOf(await post(format, JSON.stringify(plain[format](text))))).toEqual({
      status: 200,
      hasText: true,
    });
  });

  it('a body with a byte order mark, and escapes instead of characters', async () => {
    const body = JSON.stringify(plain[format](prompt));
    expect((await post(format, `\ufeff${body}`)).status).toBe(200);
    const escaped = body.replaceAll('s', '\\u0073');
    expect((await post(format, escaped)).status).toBe(200);
  });

  it('keys that would poison a prototype, without being poisoned', async () => {
    const body = JSON.stringify(plain[format](prompt)).replace(
      /\}$/,
      ',"__proto__":{"isAdmin":true,"stream":true},"constructor":{"prototype":{"stream":true}}}',
    );
    const answer = await post(format, body);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
  });

  it('doubled slashes and unknown query parameters', async () => {
    const path = `/${paths[format].replaceAll('/', '//')}?beta=true&a[]=1&__proto__=1&&=`;
    expect((await post(format, JSON.stringify(plain[format](prompt)), {}, path)).status).toBe(200);
  });

  it('a whole URL where its path belongs', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      rawRequest(
        `POST http://gateway:80${paths[format]}?key=${gateway.apiKey}`,
        { connection: 'close' },
        JSON.stringify(plain[format](prompt)),
      ),
    ]);
    expect(answer?.status).toBe(200);
  });

  it('a body that trickles in byte by byte', async () => {
    const body = JSON.stringify(plain[format](prompt));
    const head = rawRequest(`POST ${paths[format]}`, {
      authorization: `Bearer ${gateway.apiKey}`,
      'content-length': String(body.length),
      connection: 'close',
    });
    const [answer] = await exchangeRaw(gateway.baseUrl, [...`${head}${body}`]);
    expect(answer?.status).toBe(200);
  });
});

describe('a body with one odd value', () => {
  const cases = formats.flatMap((format) =>
    placesOf(richBodies[format]).map((place) => ({ format, place, where: place.join('.') })),
  );

  async function tryAll(format: Format, place: Place): Promise<string[]> {
    const failures: string[] = [];
    for (const [name, value] of Object.entries(oddities)) {
      const answer = await post(format, withValueAt(richBodies[format], place, value));
      const isError = answer.status >= 400;
      if (answer.status >= 500) failures.push(`${name}: ${answer.status}`);
      if (isError && !answer.body.includes('"message":"')) failures.push(`${name}: ${answer.body}`);
    }
    return failures;
  }

  it.each(formats)('is whole without it in %s', async (format) => {
    expect((await post(format, JSON.stringify(richBodies[format]))).status).toBe(200);
  });

  it.each(formats)('is served or refused, and never our fault, anywhere in %s', async (format) => {
    const waiting = cases.filter((each) => each.format === format);
    const failures: string[] = [];
    const next = async (): Promise<void> => {
      for (let each = waiting.pop(); each; each = waiting.pop()) {
        for (const failure of await tryAll(format, each.place)) failures.push(`${each.where} ${failure}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    expect(failures).toEqual([]);
  });
});

describe('a socket', () => {
  const authorization = () => ({ authorization: `Bearer ${gateway.apiKey}` });
  const valid = (headers: Record<string, string> = {}) =>
    rawRequest(
      `POST ${paths.openai}`,
      { ...authorization(), 'content-type': 'application/json', ...headers },
      JSON.stringify(plain.openai(prompt)),
    );
  const chunked = (body: string) =>
    `${rawRequest(`POST ${paths.openai}`, { ...authorization(), 'transfer-encoding': 'chunked' })}${body}`;

  it.each([
    { what: 'garbage', text: '\u0000\u0001\u0002 what is this\r\n\r\n' },
    { what: 'a TLS greeting', text: '\u0016\u0003\u0001\u0002\u0000\u0001\u0000' },
    { what: 'the preface of HTTP/2', text: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { what: 'a method that nobody has', text: 'DANCE / HTTP/1.1\r\nhost: x\r\n\r\n' },
    { what: 'a request without a host', text: 'GET /v1/models HTTP/1.1\r\n\r\n' },
    { what: 'a header without a name', text: 'GET / HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n' },
    { what: 'a header with a blank in its name', text: 'GET / HTTP/1.1\r\nhost: x\r\na b: y\r\n\r\n' },
    {
      what: 'a negative length',
      text: 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n',
    },
    {
      what: 'two lengths',
      text: 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef',
    },
    {
      what: 'a length and chunks',
      text: 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    },
  ])('that says $what gets a 400 and is closed', async ({ text }) => {
    const answers = await exchangeRaw(gateway.baseUrl, [Buffer.from(text, 'latin1')]);
    expect(answers.map(({ status }) => status)).toEqual([400]);
  });

  it.each([
    { what: 'a size that is no number', body: 'zz\r\nhello\r\n0\r\n\r\n' },
    { what: 'a size that is too small', body: '2\r\nhello\r\n0\r\n\r\n' },
    { what: 'a size beyond all numbers', body: 'fffffffffffffffff\r\nhello\r\n' },
    { what: 'a negative size', body: '-1\r\nhello\r\n0\r\n\r\n' },
  ])('whose chunk has $what gets an answer below 500 and is closed', async ({ body }) => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [chunked(body)]);
    expect(answer?.status).toBe(400);
  });

  it('with headers beyond the limit gets a 431', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      rawRequest('GET /v1/models', { 'x-long': 'y'.repeat(100_000) }),
    ]);
    expect(answer).toMatchObject({ status: 431, headers: { 'content-type': 'application/json' } });
  });

  it('with a line beyond the limit gets an answer below 500', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      rawRequest(`GET /v1/models/${'m'.repeat(10_000)}`, { ...authorization(), connection: 'close' }),
    ]);
    expect(answer?.status).toBe(404);
  });

  it('with two requests at once gets two answers in their order', async () => {
    const answers = await exchangeRaw(gateway.baseUrl, [
      valid() + rawRequest('GET /v1/models/sim', { ...authorization(), connection: 'close' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.map(({ body }) => (JSON.parse(body) as { object: string }).object)).toEqual([
      'chat.completion',
      'model',
    ]);
  });

  it('with more body than it announced gets a 400 for what is too much, after its answer', async () => {
    for (const request of [valid(), valid({ expect: 'a-miracle' })]) {
      const answers = await exchangeRaw(gateway.baseUrl, [`${request}{"more":true}\r\n\r\n`]);
      expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    }
  });

  /** What a client reads that sends garbage as soon as its stream has begun. */
  async function sayGarbage(path: string): Promise<string> {
    const body = { ...Object(plain.openai(`[[sim tokens=9 ttft=0 gap=5ms]]`)), stream: true };
    const socket = connect(Number(new URL(gateway.baseUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    let text = '';
    const closed = once(socket, 'close');
    socket.on('data', (chunk) => {
      if (text === '') socket.write('\u0001\u0002 garbage\r\n\r\n');
      text += chunk;
    });
    socket.write(rawRequest(`POST ${path}`, authorization(), JSON.stringify(body)));
    await closed;
    return text;
  }

  it.each([
    ['', paths.openai],
    ["to the server's own HTTP ", `${paths.openai}?x=%41`],
  ])(
    'that sends garbage %sin the middle of its stream is refused after the end of the stream',
    async (_to, path) => {
      const text = await sayGarbage(path);
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
      expect(text).toMatch(/data: \[DONE\]\s+0\r\n\r\nHTTP\/1\.1 400/);
    },
  );

  it('that asks first whether it may send is told to go on', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      valid({ expect: '100-continue', connection: 'close' }),
    ]);
    expect(answer?.status).toBe(200);
  });

  it('that expects what nobody knows is answered without it', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      valid({ expect: 'a-miracle', connection: 'close' }),
    ]);
    expect(answer?.status).toBe(200);
  });

  it('of HTTP/1.0 needs no host', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      `GET /v1/models HTTP/1.0\r\nauthorization: Bearer ${gateway.apiKey}\r\n\r\n`,
    ]);
    expect(answer?.status).toBe(200);
  });

  it('that wants another protocol is answered in this one', async () => {
    const [answer] = await exchangeRaw(gateway.baseUrl, [
      rawRequest('GET /v1/models', {
        ...authorization(),
        connection: 'Upgrade, close',
        upgrade: 'websocket',
      }),
    ]);
    expect(answer?.status).toBe(200);
  });

  it.each([
    { what: 'nothing', text: '' },
    { what: 'half a line', text: 'POST /v1/chat/com' },
    { what: 'half of its headers', text: 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthoriz' },
  ])('that says $what and hangs up is let go', async ({ text }) => {
    const answers = await exchangeRaw(gateway.baseUrl, [text], { end: true });
    expect(answers.every(({ status }) => status === 400)).toBe(true);
  });

  it('that hangs up in the middle of its body is let go', async () => {
    const answers = await exchangeRaw(gateway.baseUrl, [valid().slice(0, -20)], { end: true });
    expect(answers.every(({ status }) => status === 400)).toBe(true);
  });
});

describe('after all that', () => {
  it('the same processes serve all formats, and none of it was our fault', async () => {
    for (const format of formats) {
      const { baseUrl, apiKey } = gateway;
      const answer = await call({ baseUrl, apiKey, format, prompt, stream: true });
      expect(answer).toMatchObject({ status: 200, isComplete: true });
    }
    for (const { lines } of [...gateway.ingresses, ...gateway.workers]) {
      expect(lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
    }
    expect(await gateway.metric('sluice_requests_total', { outcome: 'internal' })).toBe(0);
    expect(await gateway.metric('sluice_requests_in_flight')).toBe(0);
  });
});
