import { connect, type Socket } from 'node:net';
import type { ResponseWriter } from '@sluice/http';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limitLastStall } from './last-stall.ts';
import { writeJson } from './reply.ts';
import { openTestServer, plainRequest, type TestServer, ways } from './test-server.ts';

/** More than the kernel keeps for a client that does not read. */
const long = 'x'.repeat(32 * 1024 * 1024);

describe.each(ways)('the last of an answer, over %s', (way) => {
  let server: TestServer;
  let client: Socket;
  let responses: ResponseWriter[];
  let stalled: number;
  let answer: { text: string; stallLimitMs: number };
  beforeEach(async () => {
    responses = [];
    stalled = 0;
    server = await openTestServer(way, (response) => {
      responses.push(response);
      limitLastStall(response, answer.stallLimitMs, () => {
        stalled += 1;
      });
      writeJson(response, 200, {}, answer.text);
    });
    client = connect(server.port, '127.0.0.1');
    client.on('error', () => undefined);
  });
  afterEach(() => {
    client.destroy();
    server.close();
  });

  it('is cut at the limit when the client reads nothing of it', async () => {
    answer = { text: long, stallLimitMs: 50 };
    client.write(plainRequest);
    await until(() => responses.length === 1);
    await until(() => stalled === 1, { what: 'the client to be dropped' });
    expect(responses[0]?.writableFinished).toBe(false);
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.resume();
    await closed;
    expect(client.bytesRead).toBeLessThan(long.length);
  });

  it('is read late and whole, and the connection serves on', async () => {
    answer = { text: long, stallLimitMs: 60_000 };
    client.write(plainRequest);
    await until(() => responses.length === 1);
    client.resume();
    await until(() => client.bytesRead > long.length, { what: 'all of it' });
    answer = { text: 'short', stallLimitMs: 50 };
    client.write(plainRequest);
    await until(() => responses[1]?.writableFinished);
    expect(stalled).toBe(0);
  });

  it('needs no timer once the kernel has taken it', async () => {
    answer = { text: 'short', stallLimitMs: 50 };
    client.write(plainRequest);
    await until(() => responses[0]?.writableFinished);
    // What Node's own server sets between two requests is not ours.
    expect(responses[0]?.socket?.timeout ?? 0).not.toBe(50);
  });
});
