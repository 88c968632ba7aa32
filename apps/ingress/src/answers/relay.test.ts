import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { ErrorInfo, GenerationEvent } from '@sluice/canonical';
import type { StreamEncoder } from '@sluice/formats';
import type { ResponseWriter } from '@sluice/http';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Relay, type RelayOptions } from './relay.ts';
import { openTestServer, plainRequest, type TestServer, type Way, ways } from './test-server.ts';

const start: GenerationEvent = { type: 'start', id: 'r', model: 'm', createdAt: 1 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const failure: GenerationEvent = { type: 'error', error: { kind: 'upstream-failed', message: 'it broke' } };
const text = (value: string): GenerationEvent => ({ type: 'text-delta', block: 0, text: value });

const hidden: GenerationEvent = { type: 'reasoning-delta', block: 0, text: 'well' };

/** The smallest format: one line per event, and none for thinking. */
const encoder: StreamEncoder = {
  contentType: 'text/plain',
  push(event, choice) {
    if (event.type === 'reasoning-delta') return '';
    return `${choice} ${event.type === 'text-delta' ? event.text : event.type}\n`;
  },
  keepAlive: () => 'alive\n',
};

/** A client's end of one real connection. */
class Client {
  readonly socket: Socket;
  received = '';
  hasEnded = false;
  isClosed = false;

  constructor(port: number, request: string) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('utf8');
    this.socket.on('data', (chunk: string) => {
      this.received += chunk;
    });
    this.socket.on('end', () => {
      this.hasEnded = true;
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isClosed = true;
    });
    this.socket.write(request);
  }

  get status(): string | undefined {
    return /^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1];
  }

  /** The body, decoded from its chunks. */
  get body(): string {
    const [, chunks = ''] = this.received.split('\r\n\r\n', 2);
    return this.received.includes('\r\n\r\n')
      ? this.received
          .slice(this.received.indexOf('\r\n\r\n') + 4)
          .replaceAll(/[0-9a-f]+\r\n/g, '')
          .replaceAll('\r\n', '')
      : chunks;
  }

  /** Whether the body ended as HTTP demands, so that the client can take it for complete. */
  get isWhole(): boolean {
    return this.received.endsWith('0\r\n\r\n');
  }
}

let server: TestServer;
let accept: (response: ResponseWriter) => void;
let client: Client;

/** A server of this kind for each test of a group. */
function serve(way: Way): void {
  beforeEach(async () => {
    server = await openTestServer(way, (response) => accept(response));
  });
  afterEach(() => {
    client.socket.destroy();
    server.close();
  });
}

const closeOf = (response: ResponseWriter): Promise<void> =>
  new Promise((resolve) => response.on('close', resolve));

/** A relay to a client that has sent its request. */
async function createBench(changes: Partial<RelayOptions> = {}, request = plainRequest) {
  let now = 1_000_000;
  const refused: ErrorInfo[] = [];
  const told: string[] = [];
  const accepted = new Promise<ResponseWriter>((resolve) => {
    accept = resolve;
  });
  client = new Client(server.port, request);
  const response = await accepted;
  const relay = new Relay({
    response,
    encoder,
    choices: 1,
    headers: () => ({ 'x-request-id': 'r' }),
    keepAliveMs: 10_000,
    stallLimitMs: 60_000,
    now: () => now,
    refuse: (error) => {
      refused.push(error);
      response.writeHead(502, {});
      response.end('refused');
    },
    onFull: () => told.push('full'),
    onDrained: () => told.push('drained'),
    onStalled: () => told.push('stalled'),
    ...changes,
  });
  return {
    relay,
    response,
    refused,
    told,
    advance: (durationMs: number) => {
      now += durationMs;
      if (relay.dueAt <= now) relay.tick();
    },
  };
}

const large = text('x'.repeat(64 * 1024));

/** Writes more than the system's own buffers hold. */
const fill = ({ relay }: Awaited<ReturnType<typeof createBench>>): void => {
  client.socket.pause();
  for (let count = 0; count < 400; count += 1) relay.push(0, [large]);
};

describe.each(ways)('the status line, over %s', (way) => {
  serve(way);

  it('waits for the first event that says something', async () => {
    const { relay, response } = await createBench();
    relay.push(0, [start]);
    expect(response.headersSent).toBe(false);
    relay.push(0, [text('a')]);
    await until(() => client.body.includes('0 a'));
    expect(client.status).toBe('200');
    expect(client.received).toContain('x-request-id: r');
    expect(client.received).toContain('content-type: text/plain');
    // Without these, a proxy would keep the answer until it is whole.
    expect(client.received).toContain('cache-control: no-cache\r\nx-accel-buffering: no');
    expect(client.body).toBe('0 start\n0 a\n');
  });

  it('waits for the first event that the format shows, and is a true one for an error before it', async () => {
    const { relay, response, refused } = await createBench();
    relay.push(0, [start, hidden]);
    relay.push(0, [hidden]);
    expect(response.headersSent).toBe(false);
    relay.push(0, [hidden, failure]);
    await until(() => client.isWhole);
    expect([client.status, refused.length]).toEqual(['502', 1]);
  });

  it('comes with the starts of all answers that waited for it', async () => {
    const { relay } = await createBench({ choices: 2 });
    relay.push(0, [start]);
    relay.push(1, [start]);
    relay.push(1, [text('a')]);
    await until(() => client.body.includes('1 a'));
    expect(client.body).toBe('0 start\n1 start\n1 a\n');
  });

  it('is a true one for an error that comes first, also behind a start', async () => {
    const { relay, refused } = await createBench();
    relay.push(0, [start, failure]);
    await until(() => client.isWhole);
    expect(client.status).toBe('502');
    expect(refused).toEqual([{ kind: 'upstream-failed', message: 'it broke' }]);
  });

  it('is that of an answer for an error right behind what is shown', async () => {
    const { relay, refused } = await createBench();
    relay.push(0, [start, text('a'), failure]);
    await until(() => client.isWhole);
    expect([client.status, client.body, refused]).toEqual(['200', '0 start\n0 a\n0 error\n', []]);
  });

  it('is refused once, when two answers fail', async () => {
    const { relay, refused } = await createBench({ choices: 2 });
    relay.push(0, [failure]);
    relay.push(1, [failure]);
    expect(refused).toHaveLength(1);
  });

  it('is written at the latest with the first keep-alive; later errors are part of the body', async () => {
    const { relay, advance, response, refused } = await createBench();
    relay.push(0, [start]);
    advance(9_999);
    expect(response.headersSent).toBe(false);
    advance(1);
    relay.push(0, [failure]);
    await until(() => client.isWhole);
    expect(client.status).toBe('200');
    expect(client.body).toBe('0 start\nalive\n0 error\n');
    expect([refused, client.isWhole]).toEqual([[], true]);
  });
});

describe.each(ways)('what of an answer is shown, over %s', (way) => {
  serve(way);

  it('is told of each choice, and is neither its start nor a keep-alive', async () => {
    const { relay, advance } = await createBench({ choices: 2 });
    const shown = () => [relay.hasShown(0), relay.hasShown(1)];
    relay.push(0, [start, hidden]);
    expect(shown()).toEqual([false, false]);
    advance(10_000);
    relay.push(1, [start]);
    expect(shown()).toEqual([false, false]);
    relay.push(1, [text('a')]);
    expect(shown()).toEqual([false, true]);
  });
});

describe.each(ways)('the body, over %s', (way) => {
  serve(way);

  it('ends cleanly with the end of the answer', async () => {
    const { relay } = await createBench();
    relay.push(0, [start, text('a')]);
    relay.push(0, [text('b'), finish]);
    await until(() => client.isWhole);
    expect(client.body).toBe('0 start\n0 a\n0 b\n0 finish\n');
    expect(client.isWhole).toBe(true);
  });

  it('ends with the last of several answers', async () => {
    const { relay } = await createBench({ choices: 2 });
    relay.push(0, [start, text('a'), finish]);
    relay.push(1, [start, text('b')]);
    await until(() => client.body.includes('1 b'));
    expect(client.isWhole).toBe(false);
    relay.push(1, [finish]);
    await until(() => client.isWhole);
    expect(client.body).toBe('0 start\n0 a\n0 finish\n1 start\n1 b\n1 finish\n');
  });

  it('ends with the first error of several answers', async () => {
    const { relay } = await createBench({ choices: 2 });
    relay.push(0, [text('a')]);
    relay.push(1, [failure]);
    relay.push(0, [text('b'), finish]);
    await until(() => client.isWhole);
    expect(client.body).toBe('0 a\n1 error\n');
  });

  it('takes nothing after its end', async () => {
    const { relay, advance } = await createBench();
    relay.push(0, [text('a'), finish, text('b')]);
    relay.push(0, [text('c')]);
    advance(60_000);
    await until(() => client.isWhole);
    expect(client.body).toBe('0 a\n0 finish\n');
  });

  it('takes nothing once the client is gone', async () => {
    const { relay, response } = await createBench();
    relay.push(0, [text('a')]);
    await until(() => client.body.length > 0);
    const closed = closeOf(response);
    client.socket.destroy();
    await closed;
    relay.closed();
    relay.push(0, [text('b'), finish]);
    relay.tick();
    expect(response.writableFinished).toBe(false);
  });
});

describe.each(ways)('signs of life, over %s', (way) => {
  serve(way);

  it('come after every silence, and not while events come', async () => {
    const { relay, advance } = await createBench();
    relay.push(0, [text('a')]);
    advance(10_000);
    advance(9_000);
    relay.push(0, [text('b')]);
    advance(9_000);
    advance(1_000);
    await until(() => client.body === '0 a\nalive\n0 b\nalive\n');
  });
});

describe.each(ways)('a client that reads slowly, over %s', (way) => {
  serve(way);

  it('pauses its answer once each time, gets no keep-alives, and goes on when it has read', async () => {
    const bench = await createBench();
    for (const before of [0, 2]) {
      fill(bench);
      bench.advance(20_000);
      expect(bench.told.slice(before)).toEqual(['full']);
      client.socket.resume();
      await until(() => bench.told.length === before + 2);
      expect(bench.told.slice(before)).toEqual(['full', 'drained']);
      bench.advance(9_999);
    }
    bench.relay.push(0, [finish]);
    await until(() => client.isWhole);
    expect(client.received.endsWith('0 finish\n\r\n0\r\n\r\n')).toBe(true);
    expect(client.received).not.toContain('\nalive');
  });

  it('never has more than the limit plus one piece waiting for it', async () => {
    const bench = await createBench();
    while (!bench.told.includes('full')) bench.relay.push(0, [large]);
    expect(bench.response.writableLength).toBeLessThanOrEqual((256 + 2 * 64) * 1024);
  });

  it('is dropped without a clean end when it reads nothing for too long', async () => {
    const bench = await createBench({ stallLimitMs: 50 });
    fill(bench);
    await closeOf(bench.response);
    expect(bench.told).toEqual(['full', 'stalled']);
    client.socket.resume();
    await until(() => client.isClosed);
    expect(client.isWhole).toBe(false);
  });

  it('is dropped when it does not read the end', async () => {
    const bench = await createBench({ stallLimitMs: 50 });
    fill(bench);
    bench.relay.push(0, [finish]);
    await closeOf(bench.response);
    expect(bench.told).toEqual(['full', 'stalled']);
  });

  it('is not dropped for a silence of the worker, once it has read', async () => {
    const limits: number[] = [];
    const bench = await createBench();
    const { setTimeout: limit } = bench.response;
    bench.response.setTimeout = (ms) => {
      limits.push(ms);
      return limit.call(bench.response, ms);
    };
    fill(bench);
    expect(limits).toEqual([60_000]);
    client.socket.resume();
    await until(() => bench.told.includes('drained'));
    expect(limits).toEqual([60_000, 0]);
  });

  it('does not resume its answer when it reads the end late', async () => {
    const bench = await createBench();
    fill(bench);
    bench.relay.push(0, [finish]);
    client.socket.resume();
    await until(() => client.isWhole);
    expect(bench.told).toEqual(['full']);
  });

  it('is dropped when it does not read an end that is all that waits', async () => {
    const bench = await createBench({ stallLimitMs: 50 });
    client.socket.pause();
    // Until the system's own buffers hold no more.
    while (bench.response.writableLength === 0) {
      bench.relay.push(0, [text('x'.repeat(16 * 1024))]);
      await setImmediate();
    }
    expect(bench.told).toEqual([]);
    bench.relay.push(0, [finish]);
    await closeOf(bench.response);
    expect(bench.told).toEqual(['stalled']);
  });

  it('is not dropped as long as it reads something', async () => {
    const [stallLimitMs, turnMs] = [2_500, 50];
    const bench = await createBench({ stallLimitMs });
    fill(bench);
    // It reads a quarter of a mebibyte at a time: all of it takes longer than the limit, but no pause does.
    let wanted = 0;
    let turns = 0;
    client.socket.on('data', (chunk: string) => {
      wanted -= chunk.length;
      if (wanted <= 0) client.socket.pause();
    });
    const reading = setInterval(() => {
      turns += 1;
      wanted = 256 * 1024;
      client.socket.resume();
    }, turnMs);
    await until(() => bench.told.length > 1);
    clearInterval(reading);
    expect(bench.told).toEqual(['full', 'drained']);
    expect(turns).toBeGreaterThan(stallLimitMs / turnMs);
  });
});

describe('a client of HTTP/1.0, for which the end of the connection is the end of the body', () => {
  serve("Node's own server");

  it('gets a reset if the body is not whole', async () => {
    const bench = await createBench({ stallLimitMs: 50 }, plainRequest.replace('HTTP/1.1', 'HTTP/1.0'));
    fill(bench);
    await closeOf(bench.response);
    client.socket.resume();
    await until(() => client.isClosed);
    expect(client.hasEnded).toBe(false);
  });

  it('gets a whole body with a clean end', async () => {
    const { relay } = await createBench({}, plainRequest.replace('HTTP/1.1', 'HTTP/1.0'));
    relay.push(0, [start, text('a'), finish]);
    await until(() => client.isClosed);
    expect([client.hasEnded, client.body]).toEqual([true, '0 start\n0 a\n0 finish\n']);
  });
});
