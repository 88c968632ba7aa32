import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import type { RunResult } from '../measures/result.ts';
import { runScenario } from '../run.ts';
import { parseScenario } from '../scenario/scenario.ts';
import { readScenarioFiles } from '../scenario/scenario-files.ts';
import { tokensPerStream } from './trivial-server.ts';

/** What the client must reach before its findings about a gateway can be trusted. */
export const goals = { requestsPerSecond: 20_000, tokensPerSecond: 500_000 } as const;

/** The client's own limits against a server that does nothing. */
export interface Ceiling {
  requestsPerSecond: number;
  tokensPerSecond: number;
  /** CPU time of the client, in microseconds. */
  cpuPerRequestUs: number;
  cpuPerTokenUs: number;
  /** Largest busy share of the machine. Near 1, client and server together were limited by the machine. */
  machineShare: number;
}

/** How long and how wide to measure. */
export interface CeilingOptions {
  durationMs: number;
  users: number;
  processes: number;
  signal: AbortSignal;
}

/** Measures the client against a trivial server in a process of its own. */
export async function measureCeiling(options: CeilingOptions): Promise<Ceiling> {
  const server = fork(fileURLToPath(new URL('./trivial-process.ts', import.meta.url)));
  try {
    const [port] = await once(server, 'message', { signal: options.signal }).catch(refuseInterrupt);
    const run = (streamShare: number) => measure(`http://127.0.0.1:${port}`, streamShare, options);
    const single = await run(0);
    const stream = await run(1);
    const streams = stream.rates.ok;
    return {
      requestsPerSecond: single.rates.ok,
      tokensPerSecond: streams * tokensPerStream,
      cpuPerRequestUs: cpuSeconds(single) / single.rates.ok,
      cpuPerTokenUs: cpuSeconds(stream) / (streams * tokensPerStream),
      machineShare: Math.max(
        ...[single, stream].flatMap((r) => r.client.processes.map((p) => p.machineShare)),
      ),
    };
  } finally {
    server.kill();
  }
}

async function measure(target: string, streamShare: number, options: CeilingOptions): Promise<RunResult> {
  const { durationMs, users, processes, signal } = options;
  const scenario = parseScenario({
    target,
    durationMs: durationMs + 500,
    warmupMs: 500,
    graceMs: 2000,
    processes,
    load: { kind: 'closed', users },
    traffic: [{ streamShare, model: 'trivial' }],
  });
  const result = await runScenario(scenario, { files: await readScenarioFiles(scenario), signal });
  if (result.isInterrupted) refuseInterrupt();
  return result;
}

/** An interrupted measurement gives no result: half of it would not show the ceiling. */
function refuseInterrupt(): never {
  throw new SluiceError('cancelled', 'interrupted before the client was measured');
}

/** Microseconds of CPU per second of all client processes. */
function cpuSeconds(result: RunResult): number {
  return result.client.processes.reduce((sum, load) => sum + load.cpuShare * 1e6, 0);
}
