import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { InferenceRequest, MediaPart } from '@sluice/canonical';
import { Turns } from '@sluice/runtime';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MediaFetcher } from './fetch-media.ts';
import { findReferences } from './inline-media.ts';
import { mediaOptions } from './media-options.ts';
import { withMedia } from './media-room.ts';

const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1');
const data = png.toString('base64');
const never = new AbortController().signal;

let server: Server;
let answer: RequestListener;
let seen: string[];
let fetcher: MediaFetcher;
let base: string;
const limits = mediaOptions.parse({
  fetch: 'always',
  internal: ['127.0.0.1'],
  allowHttp: true,
  maxBytes: 1_000,
  maxRequestBytes: 1_500,
});

const announce = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': png.length });

beforeEach(async () => {
  seen = [];
  answer = (_request, response) => announce(response).end(png);
  server = createServer((request, response) => {
    seen.push(String(request.url));
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  const services = { now: () => 0, onFetched: () => undefined, wait: async () => undefined };
  fetcher = new MediaFetcher({ ...limits, ports: [port] }, services);
});
afterEach(() => {
  fetcher.close();
  server.closeAllConnections();
  server.close();
});

/** A request with these files, whose work goes on until it is told to end. */
function look(room: Turns, paths: readonly string[], signal = never) {
  const part = (path: string): MediaPart => ({
    type: 'media',
    mediaType: 'image/*',
    source: { type: 'url', url: base + path },
  });
  const request: InferenceRequest = {
    model: 'm',
    sampling: {},
    messages: [{ role: 'user', content: paths.map(part) }],
  };
  const begun = Promise.withResolvers<InferenceRequest>();
  const working = Promise.withResolvers<void>();
  const references = findReferences(request, 'always', () => 'read');
  const ended = withMedia(request, references, { fetcher, limits, room }, signal, (whole) => {
    begun.resolve(whole);
    return working.promise;
  });
  return { begun: begun.promise, ended, end: () => working.resolve() };
}

/** The files of a request as a server would be sent them. */
const filesOf = ({ messages }: InferenceRequest): unknown[] =>
  messages.flatMap(({ content }) => content.map((part) => ('source' in part ? part.source : part)));
const whole = { type: 'base64', data };

describe('the room for files', () => {
  it('is taken by what a server announces, so that a slow one keeps little of it', async () => {
    const stalled = Promise.withResolvers<ServerResponse>();
    answer = (_request, response) => {
      announce(response).flushHeaders();
      stalled.resolve(response);
    };
    const room = new Turns(1_200);
    const slow = look(room, ['/slow']);
    const response = await stalled.promise;
    await vi.waitFor(() => expect(room.taken).toBe(png.length));
    answer = (_request, other) => announce(other).end(png);
    const quick = look(room, ['/1', '/2']);
    expect(filesOf(await quick.begun)).toEqual([whole, whole]);
    expect(room.taken).toBe(3 * png.length);
    response.end(png);
    expect(filesOf(await slow.begun)).toEqual([whole]);
    for (const { end } of [slow, quick]) end();
    await Promise.all([slow.ended, quick.ended]);
    expect(room.taken).toBe(0);
  });

  it('is taken by the largest file that there may be, until one that was not announced is read', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).write(png.subarray(0, 9));
      asked.resolve(response);
    };
    const room = new Turns(5_000);
    const { begun, ended, end } = look(room, ['/1']);
    const response = await asked.promise;
    await vi.waitFor(() => expect(room.taken).toBe(1_000));
    response.end(png.subarray(9));
    await begun;
    expect(room.taken).toBe(png.length);
    end();
    await ended;
  });

  it('counts a file twice that is sent twice', async () => {
    const room = new Turns(5_000);
    const { begun, ended, end } = look(room, ['/1', '/1']);
    expect(filesOf(await begun)).toEqual([whole, whole]);
    expect({ seen, taken: room.taken }).toEqual({ seen: ['/1'], taken: 2 * png.length });
    end();
    await ended;
  });

  it('is awaited when there is too little, with nothing in hand', async () => {
    const room = new Turns(2 * png.length);
    const first = look(room, ['/1']);
    await first.begun;
    const second = look(room, ['/2', '/3']);
    await vi.waitFor(() => expect(room.hasLine).toBe(true));
    expect(room.taken).toBe(png.length);
    const third = look(room, ['/4']);
    first.end();
    expect(filesOf(await second.begun)).toEqual([whole, whole]);
    second.end();
    expect(filesOf(await third.begun)).toEqual([whole]);
    third.end();
    await Promise.all([first.ended, second.ended, third.ended]);
    expect(room.taken).toBe(0);
    // Who finds a line does not try before.
    expect(seen.filter((path) => path === '/4')).toHaveLength(1);
  });

  it('is never taken in part by several who all need more', async () => {
    const open: ServerResponse[] = [];
    const both = Promise.withResolvers<void>();
    answer = (request, response) => {
      if (request.url === '/first') {
        announce(response).end(png);
        return;
      }
      open.push(response);
      if (open.length === 2) both.resolve();
    };
    const room = new Turns(3 * png.length);
    const looks = [look(room, ['/first', '/second']), look(room, ['/first', '/second'])];
    await both.promise;
    await vi.waitFor(() => expect(room.taken).toBe(2 * png.length));
    answer = (_request, response) => announce(response).end(png);
    for (const response of open) announce(response).end(png);
    for (const { begun, end } of looks) void begun.then(end);
    await Promise.all(looks.map(({ ended }) => ended));
    expect(room.taken).toBe(0);
  });

  it('is free again after a failure, and not taken by one who left the line', async () => {
    const room = new Turns(png.length);
    answer = (request, response) =>
      request.url === '/bad' ? response.writeHead(404).end() : announce(response).end(png);
    await expect(look(room, ['/bad']).ended).rejects.toMatchObject({ info: { kind: 'invalid-request' } });
    expect(room.taken).toBe(0);
    const first = look(room, ['/1']);
    await first.begun;
    const leaving = new AbortController();
    const second = look(room, ['/2'], leaving.signal);
    await vi.waitFor(() => expect(room.hasLine).toBe(true));
    leaving.abort();
    await second.ended;
    first.end();
    await first.ended;
    expect(room.taken).toBe(0);
  });
});
