import { ask, startCluster, startSentinel, startSingle, startSocket, type Topology } from '@sluice/testing';
import { describeTransport } from './transport-suite.ts';

/** A server as the user that the documentation makes. */
async function startForUser(): Promise<Topology> {
  const topology = await startSingle();
  const [port = 0] = topology.nodes.map((node) => node.port);
  const rules = 'on >pass ~sluice:* resetchannels &sluice:* +@all -@admin -@dangerous +info';
  await ask(port, 'ACL', 'SETUSER', 'sluice', ...rules.split(' '));
  return { ...topology, url: `redis://sluice:pass@127.0.0.1:${port}` };
}

describeTransport('single', startSingle);
describeTransport("user's", startForUser);
describeTransport('socket', startSocket);
describeTransport('sentinel', startSentinel);
describeTransport('cluster', startCluster);
