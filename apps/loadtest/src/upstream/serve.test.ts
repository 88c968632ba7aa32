import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { serveUpstream } from './serve.ts';

const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
const hosts = ['127.0.0.1', '::1'].filter((host) => addresses.some(({ address }) => address === host));

it.each(hosts)('prints an address of %s that a client can take as it is', async (host) => {
  const stopping = new AbortController();
  const printed = Promise.withResolvers<string>();
  const { signal } = stopping;
  const served = serveUpstream({ port: 0, host, signal, print: (text) => printed.resolve(text) });
  const [target = ''] = /http:\S+(?=: )/.exec(await printed.promise) ?? [];
  expect((await fetch(`${target}/stats`)).status).toBe(200);
  stopping.abort();
  expect(await served).toBe(0);
});
