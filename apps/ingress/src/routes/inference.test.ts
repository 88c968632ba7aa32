import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createIngressMetrics, createLogger } from '@sluice/runtime';
import type { Caller } from '@sluice/tenancy';
import { until } from '@sluice/testing';
import { expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { openFastPath } from '../fast-path/fast-path.ts';
import { PromptRoom } from '../guards/prompt-room.ts';
import type { Services } from '../services.ts';
import { findModel, routeInference } from './inference.ts';

it('a client that leaves while its key is looked up keeps no room for its prompt', async () => {
  const asked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<Caller>();
  const logged: string[] = [];
  // Room for two prompts of this length, of which a tenant may have one.
  const promptRoom = new PromptRoom(1_000);
  const body = JSON.stringify({ model: 'sim', messages: [], pad: 'x'.repeat(150) });
  const services = {
    metrics: createIngressMetrics(),
    logger: createLogger({ name: 'test', destination: { write: (line) => logged.push(line) } }),
    monotonic: () => 0,
    now: () => 0,
    stallLimitMs: 1_000,
    promptRoom,
    newRequestId: () => 'r1',
    overload: { check: () => undefined },
    dispatcher: { checkHearing: () => undefined },
    admission: { checkPools: () => undefined },
    catalog: { pools: new Map() },
    keys: {
      recall: () => undefined,
      authenticate: () => {
        asked.resolve();
        return found.promise;
      },
    },
  } as unknown as Services;
  const server = createServer();
  const fastPath = openFastPath(server, {
    keepAliveMs: 5_000,
    idleLimitMs: 5_000,
    quietMs: 1,
    bodyLimitBytes: 1_000,
    isClosing: () => false,
    route: routeInference(services),
    now: () => 0,
    onHandOver: () => undefined,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');

  const client = connect(address.port, '127.0.0.1');
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n' +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  await asked.promise;
  client.destroy();
  await until(() => logged.some((line) => line.includes('"cancelled"')));
  found.resolve({ tenant: 'acme' } as Caller);
  await new Promise(setImmediate);
  expect(() => promptRoom.take({} as Exchange, 'acme', body.length)).not.toThrow();
  fastPath.cut();
  server.close();
});

it('a key that may use a model may use it by every name, and one that may use a name by that alone', () => {
  const model = { id: 'sim', pool: 'p' };
  // All that is asked of a catalog and of a caller.
  const services = { catalog: { resolve: () => model, pools: new Map([['p', {}]]) } } as unknown as Services;
  const callerOf = (allowed: string) => ({ allows: (name: string) => name === allowed }) as Caller;
  expect(findModel('gpt-4', callerOf('sim'), services).model).toBe(model);
  expect(findModel('gpt-4', callerOf('gpt-4'), services).model).toBe(model);
  expect(() => findModel('gpt-5', callerOf('gpt-4'), services)).toThrow('may not use the model sim');
});
