import { once } from 'node:events';
import { createServer } from 'node:net';
import { SluiceError } from '@sluice/canonical';
import { havePortInCommon, type Ports } from '@sluice/runtime';

/** What the ports of an installation depend on. */
export interface PortChoice {
  host: string;
  /** The port of the first ingress; the others take the ports after it. */
  port: number;
  ingresses: number;
  workers: number;
  /** Number of processes of each ingress and each worker; those of an ingress share its port. */
  processes: number;
  opsHost: string;
  /** The operations port of the first process; the others take the ports after it. 0: any free ones. */
  opsPort: number;
}

/** Throws `invalid-request` if a port is to serve both the API and operations. */
export function assertPortsApart(choice: PortChoice): void {
  const { api, operations } = portsOf(choice);
  if (!havePortInCommon(api, operations)) return;
  throw new SluiceError(
    'invalid-request',
    `SLUICE_OPS_PORT means ${worded(operations)}, and the API has ${worded(api)}; without it, any free ones are taken`,
  );
}

/** Rejects with `unavailable` and one sentence if somebody has a port that the installation needs. */
export async function assertPortsFree(choice: PortChoice): Promise<void> {
  const { api, operations } = portsOf(choice);
  const elsewhere = `choose another with: npm start -- --port ${choice.port + 1_000}`;
  await assertFree(api, 'SLUICE_HOST', elsewhere);
  if (operations.first === 0) return;
  await assertFree(operations, 'SLUICE_OPS_HOST', `SLUICE_OPS_PORT means ${worded(operations)}`);
}

function portsOf(choice: PortChoice): { api: Ports; operations: Ports } {
  const { host, port, ingresses, workers, processes, opsHost, opsPort } = choice;
  return {
    api: { host, first: port, count: ingresses },
    operations: { host: opsHost, first: opsPort, count: (ingresses + workers) * processes },
  };
}

function worded({ first, count }: Ports): string {
  return count === 1 ? `port ${first}` : `ports ${first} to ${first + count - 1}`;
}

async function assertFree({ host, first, count }: Ports, hostName: string, advice: string): Promise<void> {
  for (let port = first; port < first + count; port++) {
    const server = createServer();
    try {
      server.listen(port, host);
      await once(server, 'listening');
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
      if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
        const message = `${hostName}=${host} is no address of this machine`;
        throw new SluiceError('unavailable', message, { cause });
      }
      const reason = code === 'EADDRINUSE' ? 'is taken' : `can't be opened (${code})`;
      throw new SluiceError('unavailable', `port ${port} ${reason}; ${advice}`, { cause });
    } finally {
      server.close();
    }
  }
}
