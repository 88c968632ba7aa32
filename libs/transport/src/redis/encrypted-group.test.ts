import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { redisCertificate, startCluster, startSentinel, type Topology } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeTransport } from '../transport-suite.ts';
import { connected, openRedis } from './connection.ts';
import { refusalOf } from './test-refusal.ts';

const trusted = getCACertificates('default');
beforeEach(() => setDefaultCACertificates([...trusted, redisCertificate]));
afterAll(() => setDefaultCACertificates(trusted));

describe.each([
  { kind: 'sentinel', start: () => startSentinel({ isEncrypted: true }) },
  { kind: 'cluster', start: () => startCluster({ isEncrypted: true }) },
])('an encrypted $kind', ({ kind, start }) => {
  let topology: Topology;
  beforeAll(async () => {
    topology = await start();
  });
  afterAll(() => topology.stop());

  // Its servers are announced by IP address, and show a certificate for the host of the URL.
  describeTransport(`TLS ${kind}`, async () => ({ ...topology, stop: async () => undefined }));

  it('is reached where one of its hosts has no address', async () => {
    const url = topology.url.replace('//', '//nowhere.invalid:1,');
    const client = openRedis(url, { profile: 'worker', name: 'process', onError: () => undefined });
    await connected(client, AbortSignal.timeout(10_000));
    client.disconnect();
  });

  it('whose certificates no authority of ours has signed is refused', async () => {
    setDefaultCACertificates(trusted);
    expect(await refusalOf(topology.url)).toMatch(
      /is not reachable: .*self-signed certificate, and NODE_EXTRA_CA_CERTS names no authority of it$/,
    );
  });

  it('whose certificates are for another host is refused', async () => {
    expect(await refusalOf(topology.url.replaceAll('localhost', '127.0.0.1'))).toMatch(
      /is not reachable: .*does not match certificate's altnames: IP: 127\.0\.0\.1 is not in/,
    );
  });

  it('does not answer a client that does not encrypt', async () => {
    expect(await refusalOf(topology.url.replace('rediss', 'redis'))).toMatch(
      /is not reachable: .*(?:ECONNRESET|EPIPE), as where Redis wants TLS or is in protected mode$/,
    );
  });
});
