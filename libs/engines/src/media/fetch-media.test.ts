import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { testCertificate } from '../test-certificate.ts';
import { MediaFetcher, type MediaFetcherServices, type MediaOrder } from './fetch-media.ts';
import { mediaOptions } from './media-options.ts';

const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1');
const cannot = 'the URL cannot be fetched';

interface WebServer {
  port: number;
  seen: string[];
  answer: RequestListener;
}
let plain: WebServer;
let secure: WebServer;
const servers: Server[] = [];

async function open(isSecure: boolean): Promise<WebServer> {
  const web: WebServer = { port: 0, seen: [], answer: sendPng };
  const receive: RequestListener = (request, response) => {
    web.seen.push(`${request.headers.host} ${request.url}`);
    web.answer(request, response);
  };
  const server = isSecure ? createHttps(testCertificate, receive) : createHttp(receive);
  servers.push(server);
  // On every address, so that only the guard can be the reason if it is not reached.
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  web.port = (server.address() as AddressInfo).port;
  return web;
}

const sendPng: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(png);
};
const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { location }).end();
  };

beforeAll(async () => {
  [plain, secure] = [await open(false), await open(true)];
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  for (const web of [plain, secure]) Object.assign(web, { seen: [], answer: sendPng });
});
const fetchers: MediaFetcher[] = [];
afterEach(() => {
  for (const fetcher of fetchers.splice(0)) fetcher.close();
});

interface Setting {
  options?: object;
  services?: Partial<MediaFetcherServices>;
}

/** A fetcher that may reach 127.0.0.1 at the servers' ports, and does not wait after a failure. */
function create({ options, services }: Setting = {}) {
  const counted: string[] = [];
  const waits: number[] = [];
  const ports = [plain.port, secure.port];
  const fetcher = new MediaFetcher(
    mediaOptions.parse({ fetch: 'always', internal: ['127.0.0.1'], allowHttp: true, ports, ...options }),
    {
      now: () => 0,
      onFetched: (outcome) => counted.push(outcome),
      lookUp: async () => ['127.0.0.1'],
      wait: async (durationMs) => void waits.push(durationMs),
      certificateAuthority: testCertificate.cert,
      ...services,
    },
  );
  fetchers.push(fetcher);
  const fetch = (url: string, more: Partial<MediaOrder> = {}) =>
    fetcher.fetch({
      url,
      mediaType: 'image/*',
      budget: { bytes: 1_000_000 },
      signal: new AbortController().signal,
      ...more,
    });
  return { fetcher, fetch, counted, waits };
}

const http = (path = '/a.png', host = '127.0.0.1') => `http://${host}:${plain.port}${path}`;
const https = (path = '/a.png', host = 'files.example') => `https://${host}:${secure.port}${path}`;

describe('a file by URL', () => {
  it('is returned as base64 with the type of its bytes, over https with a checked certificate', async () => {
    secure.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(png);
    };
    const { fetch, counted, waits } = create({ options: { allowHttp: false } });
    expect(await fetch(https('/a.png?signature=1'))).toEqual({
      outcome: 'ok',
      mediaType: 'image/png',
      data: png.toString('base64'),
    });
    expect(secure.seen).toEqual([`files.example:${secure.port} /a.png?signature=1`]);
    expect(counted).toEqual(['ok']);
    expect(waits).toEqual([]);
  });

  it('comes from the first address of its host, even if our own process stands still while it connects', async () => {
    const stall = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    // Safe to cast: this is what Node publishes there.
    const watch = (message: unknown) =>
      (message as { socket: Socket }).socket.once('connectionAttempt', () => queueMicrotask(stall));
    subscribe('net.client.socket', watch);
    onTestFinished(() => void unsubscribe('net.client.socket', watch));
    const { fetch } = create({
      options: { internal: ['127.0.0.1', '::1'] },
      // The address where nobody listens comes second, as on a host without IPv6.
      services: { lookUp: async () => ['127.0.0.1', '::1'] },
    });
    expect(await fetch(http('/a.png', 'files.example'))).toMatchObject({ outcome: 'ok' });
  });

  it('is requested without credential, cookie or compression', async () => {
    let headers: object = {};
    plain.answer = (request, response) => {
      headers = request.headers;
      sendPng(request, response);
    };
    await create().fetch(http());
    expect(headers).toEqual({
      host: `127.0.0.1:${plain.port}`,
      connection: 'keep-alive',
      accept: 'image/*',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
    });
  });

  it('is not fetched from a server whose certificate is for another host', async () => {
    const { fetch } = create();
    expect(await fetch(https('/', 'other.example'))).toMatchObject({ outcome: 'unreachable', fact: cannot });
    expect(secure.seen).toEqual([]);
  });

  it('is fetched without the proxy of the environment', async () => {
    const before = process.env.HTTP_PROXY;
    process.env.HTTP_PROXY = 'http://127.0.0.1:9';
    try {
      expect(await create().fetch(http())).toMatchObject({ outcome: 'ok' });
    } finally {
      if (before === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = before;
    }
  });
});

describe('an address that must not be reached', () => {
  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '017700000001',
    '127.1',
    '[::ffff:127.0.0.1]',
    '0',
    'localhost',
  ])('is not reached as %s', async (host) => {
    const { fetch, counted } = create({ options: { internal: [] } });
    expect(await fetch(http('/', host))).toEqual({ outcome: 'refused', fact: cannot });
    expect(plain.seen).toEqual([]);
    expect(counted).toEqual(['refused']);
  });

  it('is not reached by a name that leads to it, alone or together with a good address', async () => {
    for (const found of [['127.0.0.1'], ['1.1.1.1', '127.0.0.1'], ['::1'], ['169.254.169.254']]) {
      const { fetch } = create({ options: { internal: [] }, services: { lookUp: async () => found } });
      expect(await fetch(http('/', 'files.example'))).toEqual({ outcome: 'refused', fact: cannot });
    }
    expect(plain.seen).toEqual([]);
  });

  it('is not reached by a name that resolves to something else the second time', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const { fetch } = create({ services: { lookUp: async () => answers.shift() ?? [] } });
    let reachedAt: string | undefined;
    plain.answer = (request, response) => {
      reachedAt = request.socket.localAddress;
      sendPng(request, response);
    };
    expect(await fetch(http('/', 'files.example'))).toMatchObject({ outcome: 'ok' });
    expect(reachedAt).toBe('127.0.0.1');
    expect(answers).toHaveLength(1);
    expect(await fetch(http('/', 'files.example'))).toMatchObject({ outcome: 'refused' });
    expect(plain.seen).toHaveLength(1);
  });

  it.each([
    'http://127.0.0.2',
    'http://0x7f000002/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]',
    '//10.0.0.1/',
    'http://inside.example/',
  ])('is not reached by a redirect to %s', async (location) => {
    plain.answer = redirectTo(location);
    const { fetch } = create({
      options: { ports: [plain.port, 80] },
      services: { lookUp: async (host) => [host === 'files.example' ? '127.0.0.1' : '127.0.0.2'] },
    });
    expect(await fetch(http('/', 'files.example'))).toEqual({ outcome: 'refused', fact: cannot });
    expect(plain.seen).toHaveLength(1);
  });

  it.each(['files.example', 'files.example.', 'FILES.example', 'files.example..', 'files.example%2e%2e'])(
    'is not reached by its denied name, spelled as %s',
    async (host) => {
      const { fetch } = create({ options: { denied: ['files.example'] } });
      expect(await fetch(http('/', host))).toMatchObject({ outcome: 'refused' });
      expect(plain.seen).toEqual([]);
    },
  );

  it('looks like one where nobody answers, in words and in time', async () => {
    const told: object[] = [];
    for (const [setting, host, spentMs] of [
      [{ options: { internal: [] } }, '127.0.0.1', 1],
      [{ services: { lookUp: async () => [] } }, 'files.example', 30],
      [{ services: { lookUp: async () => ['127.0.0.1'] }, options: { ports: [1] } }, 'files.example', 700],
    ] as const) {
      let time = 0;
      const { fetch, waits } = create({
        ...setting,
        services: { ...('services' in setting && setting.services), now: () => (time += spentMs) },
      });
      const port = 'options' in setting && 'ports' in setting.options ? 1 : plain.port;
      const { outcome, ...rest } = await fetch(`http://${host}:${port}/`);
      expect(outcome).not.toBe('ok');
      told.push({ ...rest, afterMs: spentMs + (waits[0] ?? 0) });
    }
    const same = { fact: cannot, afterMs: 1_000 };
    expect(told).toEqual([same, same, same]);
  });

  it('is not even looked up if only other hosts are listed', async () => {
    const asked: string[] = [];
    const lookUp = async (host: string) => {
      asked.push(host);
      return ['127.0.0.1'];
    };
    const { fetch } = create({ options: { hosts: ['files.example'] }, services: { lookUp } });
    expect(await fetch(http('/', 'other.example'))).toMatchObject({ outcome: 'refused', fact: cannot });
    expect(asked).toEqual([]);
    expect(await fetch(http('/', 'files.example'))).toMatchObject({ outcome: 'ok' });
  });
});

describe('a redirect', () => {
  it('is followed three times, also from http to https', async () => {
    const steps = ['/1', '/2', https('/3')];
    plain.answer = (request, response) => redirectTo(steps.shift() ?? '')(request, response);
    expect(await create().fetch(http())).toMatchObject({ outcome: 'ok' });
    expect(plain.seen).toHaveLength(3);
    expect(secure.seen).toHaveLength(1);
  });

  it('is not followed a fourth time', async () => {
    plain.answer = redirectTo('/again', 307);
    expect(await create().fetch(http())).toEqual({
      outcome: 'bad-status',
      fact: 'the URL redirects too often',
    });
    expect(plain.seen).toHaveLength(4);
  });

  it('never leads from https to http, to a password or to another port', async () => {
    for (const location of [
      http(),
      'https://a:b@files.example/',
      'https://files.example:22/',
      'ftp://files.example',
    ]) {
      secure.answer = redirectTo(location);
      expect(await create().fetch(https())).toEqual({ outcome: 'refused', fact: cannot });
    }
    expect(plain.seen).toEqual([]);
  });
});

describe('an answer', () => {
  it.each([404, 403, 500, 503, 204, 206, 300])('with the status %i is not a file', async (status) => {
    plain.answer = (_request, response) => response.writeHead(status, { 'content-type': 'image/png' }).end();
    expect(await create().fetch(http())).toEqual({
      outcome: 'bad-status',
      fact: `the server of the URL answered ${status}`,
    });
    expect(plain.seen).toHaveLength(1);
  });

  it.each<[string, string | undefined]>([
    ['text/html', undefined],
    ['application/pdf', undefined],
    ['image/png', '<html>not a picture</html>'],
    ['', '%PDF-1.7'],
  ])('of the type %j is not taken for a picture that it is not', async (type, body) => {
    plain.answer = (_request, response) =>
      response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(body ?? png);
    expect(await create().fetch(http())).toMatchObject({ outcome: 'wrong-type' });
  });

  it.each(['UTF-8', 'none', 'Identity', ''])(
    'is read as it is if its server calls its coding %j, which is none',
    async (coding) => {
      plain.answer = (_request, response) =>
        response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': coding }).end(png);
      expect(await create().fetch(http())).toMatchObject({ outcome: 'ok', mediaType: 'image/png' });
    },
  );

  it.each([gzipSync(png), png])(
    'that claims to be compressed is neither unpacked nor believed',
    async (body) => {
      plain.answer = (_request, response) =>
        response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end(body);
      expect(await create().fetch(http())).toEqual({
        outcome: 'wrong-type',
        fact: 'the server of the URL compressed its answer unasked',
      });
    },
  );

  it('that announces too many bytes is not awaited', async () => {
    plain.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': '5000000' }).flushHeaders();
    };
    expect(await create({ options: { maxBytes: 100_000 } }).fetch(http())).toMatchObject({
      outcome: 'too-large',
    });
  });

  it('that is larger than allowed is not read to its end, announced or not', async () => {
    for (const headers of [{ 'content-length': '5000000' }, {}]) {
      let cut = () => {};
      const wasCut = new Promise<void>((resolve) => {
        cut = resolve;
      });
      plain.answer = (_request, response) => {
        response.on('close', cut);
        response.writeHead(200, { 'content-type': 'image/png', ...headers });
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        };
        response.on('drain', more);
        more();
      };
      const { fetch } = create({ options: { maxBytes: 100_000 } });
      expect(await fetch(http())).toEqual({
        outcome: 'too-large',
        fact: 'the file is larger than 100000 bytes',
      });
      await wasCut;
    }
  });

  it('is counted against what is left for the request', async () => {
    const { fetch } = create({ options: { maxRequestBytes: 30 } });
    const budget = { bytes: 30 };
    expect(await fetch(http(), { budget })).toMatchObject({ outcome: 'ok' });
    expect(await fetch(http(), { budget })).toEqual({
      outcome: 'too-large',
      fact: 'the files of the request are larger than 30 bytes together',
    });
  });

  it('that breaks off is no file', async () => {
    plain.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': '1000' });
      response.write(png, () => response.destroy());
    };
    expect(await create().fetch(http())).toMatchObject({ outcome: 'unreachable', fact: cannot });
  });

  it('that trickles is given up when its time is over', async () => {
    plain.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).write(png);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    };
    const { fetch, counted } = create({ options: { timeoutMs: 100 } });
    expect(await fetch(http())).toEqual({ outcome: 'timed-out', fact: 'the URL was not fetched in time' });
    expect(counted).toEqual(['timed-out']);
  });

  it('that never begins is given up, too, and so is a name that does not resolve', async () => {
    plain.answer = () => {};
    expect(await create({ options: { timeoutMs: 50 } }).fetch(http())).toMatchObject({
      outcome: 'timed-out',
    });
    const services = { lookUp: () => new Promise<string[]>(() => {}) };
    const { fetch } = create({ options: { timeoutMs: 50 }, services });
    expect(await fetch(https())).toMatchObject({ outcome: 'timed-out' });
  });
});

describe('a fetch that nobody awaits any more', () => {
  it.each(['aborted', 'closed'])('is %s and lets go of its connection', async (way) => {
    const { fetcher, fetch, counted } = create();
    const aborting = new AbortController();
    const closed = new Promise<void>((resolve) => {
      plain.answer = (_request, response) => {
        response.on('close', resolve);
        response.writeHead(200, { 'content-type': 'image/png' }).write(png);
        if (way === 'closed') fetcher.close();
        else aborting.abort();
      };
    });
    expect(await fetch(http(), { signal: aborting.signal })).toMatchObject({ outcome: 'stopped' });
    await closed;
    expect(counted).toEqual(['stopped']);
  });

  it('leaves turns to other tenants for as long as its server says nothing', async () => {
    plain.answer = (request, response) => request.url === '/a.png' && sendPng(request, response);
    const { fetch } = create({ options: { maxConcurrent: 4 } });
    const aborting = new AbortController();
    const silent = { tenant: 'a', signal: aborting.signal };
    const held = Array.from({ length: 8 }, () => fetch(http('/silent'), silent));
    expect(await fetch(http(), { tenant: 'b' })).toMatchObject({ outcome: 'ok' });
    aborting.abort();
    expect(new Set((await Promise.all(held)).map(({ outcome }) => outcome))).toEqual(new Set(['stopped']));
  });

  it('gives up its turn', async () => {
    const { fetch } = create({ options: { maxConcurrent: 1 } });
    let finish = () => {};
    const arrived = new Promise<void>((resolve) => {
      plain.answer = (request, response) => {
        finish = () => sendPng(request, response);
        resolve();
      };
    });
    const first = fetch(http());
    await arrived;
    const aborting = new AbortController();
    const second = fetch(http(), { signal: aborting.signal });
    const third = fetch(http());
    aborting.abort();
    expect(await second).toMatchObject({ outcome: 'stopped' });
    expect(plain.seen).toHaveLength(1);
    plain.answer = sendPng;
    finish();
    expect(await first).toMatchObject({ outcome: 'ok' });
    expect(await third).toMatchObject({ outcome: 'ok' });
    expect(plain.seen).toHaveLength(2);
  });
});
