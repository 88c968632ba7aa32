import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@sluice/testing';
import type { HeapSample } from '../observation.ts';
import type { Member } from './member.ts';

/**
 * Environment for processes whose heap is to be measured: SIGUSR1 makes them open Node's inspector on a port that the
 * system chooses. Until then they run as they always do.
 */
export const inspectable = { NODE_OPTIONS: '--inspect-port=0' };

const answerLimitMs = 30_000;
/** Several collections, since what finalizers free in one is garbage for the next. */
const collections = 3;
const collectionPauseMs = 200;

/** Measures the heaps of processes from outside, through the inspector: their code knows nothing of it. */
export class HeapGauge {
  /** Address of each process's inspector by process id. A process prints it only once. */
  private readonly addresses = new Map<number, string>();

  /** What all processes of an installation hold after forced collections. */
  async sample(members: readonly Member[]): Promise<HeapSample[]> {
    const samples: HeapSample[] = [];
    for (const member of members) {
      for (const pid of member.role === 'ingress' ? [member.process.pid] : member.workerPids()) {
        const bytes = await measure(await this.addressOf(pid, member));
        samples.push({ process: member.name, pid, bytes });
      }
    }
    return samples;
  }

  private async addressOf(pid: number, member: Member): Promise<string> {
    const known = this.addresses.get(pid);
    if (known !== undefined) return known;
    const said = (): string[] =>
      member.lines.flatMap(({ text }) => /listening on (ws:\S+)/.exec(text)?.[1] ?? []);
    const before = said().length;
    process.kill(pid, 'SIGUSR1');
    const address = await until(() => said()[before], {
      timeoutMs: answerLimitMs,
      what: `the inspector of ${member.name}`,
    });
    this.addresses.set(pid, address);
    return address;
  }
}

async function measure(address: string): Promise<number> {
  const socket = new WebSocket(address);
  try {
    await event(socket, 'open');
    for (let count = 0; count < collections; count += 1) {
      await command(socket, 'HeapProfiler.collectGarbage');
      await sleep(collectionPauseMs);
    }
    const { result } = await command(socket, 'Runtime.getHeapUsage');
    return result.usedSize;
  } finally {
    socket.close();
  }
}

async function command(socket: WebSocket, method: string): Promise<{ result: { usedSize: number } }> {
  const answered = event(socket, 'message');
  socket.send(JSON.stringify({ id: 1, method }));
  // Only one command is ever under way, and no domain is enabled that sends events: the next message is the answer.
  const { data } = (await answered) as Event & { data: string };
  return JSON.parse(data) as { result: { usedSize: number } };
}

function event(socket: WebSocket, name: 'open' | 'message'): Promise<Event> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`no ${name} from an inspector`)), answerLimitMs);
    const settle = (action: () => void): void => {
      clearTimeout(limit);
      action();
    };
    socket.addEventListener(name, (happened) => settle(() => resolve(happened)), { once: true });
    socket.addEventListener('error', () => settle(() => reject(new Error('an inspector went away'))), {
      once: true,
    });
  });
}
