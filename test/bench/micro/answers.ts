import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { GenerationEvent } from '@sluice/canonical';
import { importIngressPart, importLibrary } from './checkout.ts';
import type { Subject } from './subject.ts';

type Formats = typeof import('@sluice/formats');

const tokens = 1000;
const streams = 32;
const turns = 32;
const start: GenerationEvent = { type: 'start', id: 'abc', model: 'model', createdAt: 1 };
const text = (at: number): GenerationEvent => ({
  type: 'text-delta',
  block: 0,
  text: ` word${at}`,
  tokens: 1,
});

/** Frames of one token each through the attempt machine of one generation. */
export const machine: Subject = {
  name: 'attempt',
  unit: 'frame',
  async open(root) {
    const AttemptMachine = await importIngressPart(root, 'attempt-machine.ts', 'AttemptMachine');
    const ignore = () => undefined;
    let delivered = 0;
    const effects = {
      ...{ enqueue: ignore, withdraw: ignore, order: ignore, dropped: ignore },
      deliver: () => {
        delivered += 1;
      },
    };
    return {
      operations: tokens,
      batch() {
        const attempt = new AttemptMachine(effects, { resumeAbility: () => 'none', isPlainText: true });
        attempt.claimed('w1', 1);
        attempt.frame('w1', 1, 0, [start]);
        for (let at = 1; at <= tokens; at++) attempt.frame('w1', 1, at, [text(at)]);
      },
      facts: () => (delivered > 0 ? {} : { nothing: 1 }),
    };
  },
};

/** A token of each of 32 streams per turn of the event loop, through relay, encoder and a real socket. */
export const relay: Subject = {
  name: 'relay',
  unit: 'token',
  async open(root) {
    const Relay = await importIngressPart(root, 'relay.ts', 'Relay');
    const { serverCodecs } = await importLibrary<Formats>(root, 'formats');
    const codec = serverCodecs.find(({ format }) => format === 'openai');
    if (!codec) throw new Error('there is no format openai');
    const { call } = codec.decodeRequest({
      path: '/v1/chat/completions',
      headers: {},
      query: {},
      body: { model: 'model', stream: true, messages: [{ role: 'user', content: 'hello' }] },
      requestId: 'abc',
    });
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => responses.push(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
    // The clients run in this process, too, and discard what they receive.
    const sockets = await Promise.all(
      Array.from({ length: streams }, async () => {
        const socket = connect({
          port: address.port,
          onread: { buffer: Buffer.alloc(65_536), callback: () => true },
        });
        await once(socket, 'connect');
        socket.write('GET / HTTP/1.1\r\nhost: bench\r\n\r\n');
        return socket;
      }),
    );
    while (responses.length < streams) await new Promise((resolve) => setImmediate(resolve));
    const ignore = () => undefined;
    const relays = responses.map(
      (response) =>
        new Relay({
          ...{ response, encoder: codec.createStreamEncoder(call), choices: 1 },
          ...{ headers: () => ({}), keepAliveMs: 10_000, stallLimitMs: 30_000, now: () => performance.now() },
          ...{ refuse: ignore, onFull: ignore, onDrained: ignore, onStalled: ignore },
        }),
    );
    for (const each of relays) each.push(0, [start]);
    return {
      operations: streams * turns,
      async batch() {
        for (let turn = 0; turn < turns; turn++) {
          for (const each of relays) each.push(0, [text(turn)]);
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      async close() {
        for (const socket of sockets) socket.destroy();
        server.closeAllConnections();
        server.close();
      },
    };
  },
};
