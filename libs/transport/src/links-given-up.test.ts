import { ask, type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { type Links, openLinks } from './links.ts';

/** A Redis for one of several tests that wait at the same time. It is not frozen any more when it stops. */
async function startServer() {
  const server = await startOwnRedis();
  const dispose = async (): Promise<void> => {
    server.resume();
    await server.stop();
  };
  return { server, [Symbol.asyncDispose]: dispose };
}

const open = ({ url }: OwnTestRedis, profile: 'command' | 'worker' = 'command'): Promise<Links> =>
  openLinks(url, {
    profile,
    name: 'process',
    onConnectionError: () => undefined,
    onBadMessage: () => undefined,
  });

// Each waits for as long as a start may take.
describe.concurrent('after a while, with a sentence that says why, a process gives up', () => {
  it('links to a Redis that refuses writes', async () => {
    await using started = await startServer();
    const { server } = started;
    await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
    await expect(open(server)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^redis at 127\.0\.0\.1:\d+ does not take writes: NOREPLICAS/),
    });
  });

  it.each([
    ['command', /^redis at 127\.0\.0\.1:\d+ does not serve: /],
    // Its commands are sent again by themselves, and never fail.
    ['worker', /^redis at 127\.0\.0\.1:\d+ does not serve: no answer$/],
  ] as const)('links to a Redis that makes writers wait: %s', async (profile, sentence) => {
    await using started = await startServer();
    const { server } = started;
    await ask(server.port, 'CLIENT', 'PAUSE', '60000', 'WRITE');
    await expect(open(server, profile)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(sentence),
    });
  });

  it('what it does at a Redis that has fallen silent', async () => {
    await using started = await startServer();
    const { server } = started;
    const links = await open(server);
    server.suspend();
    await expect(links.patiently(() => links.commands.get('key'))).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^redis at 127\.0\.0\.1:\d+ does not serve: /),
    });
    links.close();
  });

  it('a subscription at a Redis that has fallen silent', async () => {
    await using started = await startServer();
    const { server } = started;
    const links = await open(server);
    server.suspend();
    await expect(links.bus.subscribe('channel', () => undefined)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'redis does not take a subscription: no answer',
    });
    links.close();
  });

  it('a subscription at a Redis that refuses it', async () => {
    await using started = await startServer();
    const { server } = started;
    const links = await open(server);
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
    await expect(links.bus.subscribe('channel', () => undefined)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^redis does not take a subscription: NOPERM/),
    });
    links.close();
  });
});
