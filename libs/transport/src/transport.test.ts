import { vi } from 'vitest';
import { startCluster, startSentinel, startSingle } from './test-topology.ts';
import { describeTransport } from './transport-suite.ts';

// Real servers start here, on machines that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });

describeTransport('single', startSingle);
describeTransport('sentinel', startSentinel);
describeTransport('cluster', startCluster);
