import { startCluster, startSentinel, startSingle, startSocket } from '@sluice/testing';
import { vi } from 'vitest';
import { describeTransport } from './transport-suite.ts';

// Real servers start here, on machines that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });

describeTransport('single', startSingle);
describeTransport('socket', startSocket);
describeTransport('sentinel', startSentinel);
describeTransport('cluster', startCluster);
