import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type OpsServer, openOpsServer, type Readiness } from './ops-server.ts';

let server: OpsServer;
let readiness: () => Readiness;
let metrics: () => Promise<{ contentType: string; body: string }>;

beforeEach(async () => {
  readiness = () => ({ ready: true, reasons: [] });
  metrics = async () => ({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' });
  server = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    isReady: () => readiness(),
    metrics: () => metrics(),
  });
});
afterEach(() => server.close());

function ask(path: string, method = 'GET') {
  return fetch(`http://127.0.0.1:${server.port}${path}`, { method });
}

it('says that it lives', async () => {
  const response = await ask('/livez?verbose');
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('allow')).toBeNull();
  expect(await response.text()).toBe('ok\n');
});

it('is ready, or not with the reasons', async () => {
  expect((await ask('/readyz')).status).toBe(200);
  readiness = () => ({ ready: false, reasons: ['redis does not answer', 'draining'] });
  const response = await ask('/readyz');
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ ready: false, reasons: ['redis does not answer', 'draining'] });
});

it('is not ready when the check itself fails, and does not tell why', async () => {
  readiness = () => {
    throw new Error('secret');
  };
  const response = await ask('/readyz');
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ ready: false, reasons: ['the check itself fails'] });
});

it('serves the metrics, and 500 without details when they break', async () => {
  const response = await ask('/metrics');
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4');
  expect(await response.text()).toBe('up 1\n');
  metrics = () => Promise.reject(new Error('secret'));
  const broken = await ask('/metrics');
  expect(broken.status).toBe(500);
  expect(await broken.text()).not.toContain('secret');
});

it('answers HEAD with the headers of GET and no body', async () => {
  const response = await ask('/livez', 'HEAD');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-length')).toBe('3');
  expect(await response.text()).toBe('');
});

it('refuses other methods and other paths', async () => {
  const response = await ask('/metrics', 'POST');
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('GET, HEAD');
  expect((await ask('/')).status).toBe(404);
  expect((await ask('/metrics/x', 'POST')).status).toBe(404);
});

it('names the address, and what is in the way, when its port is taken', async () => {
  const second = openOpsServer({ host: '127.0.0.1', port: server.port, isReady: readiness, metrics });
  await expect(second).rejects.toMatchObject({
    kind: 'unavailable',
    message: `can't listen on 127.0.0.1:${server.port} for operations: another process has it`,
  });
});

it('closes at once, even with a silent connection open, and twice', async () => {
  const socket = connect(server.port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  await server.close();
  await server.close();
  await gone;
  await expect(ask('/livez')).rejects.toThrow();
});
