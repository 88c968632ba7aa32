import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testCertificate } from '../test-certificate.ts';
import { askFor, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from './engine.ts';
import { upstreamOptions } from './options.ts';

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

let server: Server;
let sessions: boolean[];
let engine: UpstreamEngine;
const trusted = getCACertificates('default');

beforeEach(async () => {
  sessions = [];
  server = createServer(testCertificate, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: 'grü' }));
    response.end(`${chunk({ content: 'ß dich' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  server.on('secureConnection', (socket: TLSSocket) => sessions.push(socket.isSessionReused()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Safe to cast: a server that listens on TCP has an address with a port.
  const { port } = server.address() as AddressInfo;
  engine = createUpstreamEngine(
    upstreamOptions.parse({ baseUrl: `https://127.0.0.1:${port}/v1` }),
    quietServices,
  );
});
afterEach(async () => {
  setDefaultCACertificates(trusted);
  await engine.stop();
  server.closeAllConnections();
  server.close();
});

describe('an upstream behind TLS', () => {
  it('is called over a connection that is reused, and opens another with the session of the first', async () => {
    setDefaultCACertificates([testCertificate.cert]);
    for (let round = 0; round < 3; round += 1) {
      expect(textOf(await runOf(engine, askFor('hi')))).toBe('grüß dich');
    }
    expect(sessions).toEqual([false]);
    server.closeAllConnections();
    expect(textOf(await runOf(engine, askFor('hi')))).toBe('grüß dich');
    expect(sessions).toEqual([false, true]);
  });

  it('is not called if nobody vouches for it', async () => {
    expect(await runOf(engine, askFor('hi'))).toMatchObject([
      { type: 'error', error: { kind: 'unavailable', message: 'the upstream cannot be reached' } },
    ]);
  });
});
