import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '../installation/installation.ts';
import type { ProxyFault } from '../installation/proxy-fault.ts';
import type { FaultProxy } from '../installation/tcp-proxy.ts';
import type { Random } from '../random.ts';
import type { FaultKind } from './fault-kind.ts';

type Place = 'ingress-redis' | 'worker-redis' | 'worker-upstream' | 'client-ingress';

const places: readonly Place[] = ['ingress-redis', 'worker-redis', 'worker-upstream', 'client-ingress'];

const faults: Readonly<Record<string, (random: Random) => ProxyFault | 'reset' | 'forget'>> = {
  refuse: () => ({ kind: 'refuse' }),
  drop: () => ({ kind: 'drop' }),
  stall: () => ({ kind: 'stall' }),
  'half-open': () => ({ kind: 'half-open' }),
  blackhole: () => ({ kind: 'blackhole' }),
  latency: (random) => ({ kind: 'latency', delayMs: random.between(10, 300) }),
  throttle: (random) => ({ kind: 'throttle', bytesPerSecond: random.between(5_000, 50_000) }),
  'cut-after': (random) => ({ kind: 'cut-after', bytes: random.between(1, 5_000) }),
  reset: () => 'reset',
  forget: () => 'forget',
};

/** The longest time until a connection that nobody answers is given up. */
const forgottenMs = 5_000;

/** Every fault of the proxy, between any two processes. */
export const proxyFaults: readonly FaultKind[] = places.flatMap((place) =>
  // Not between clients and ingress: only the client itself could end its wait on a forgotten connection.
  Object.entries(faults)
    .filter(([name]) => !(place === 'client-ingress' && name === 'forget'))
    .map(([name, create]) => ({
      name: `${place} ${name}`,
      target: (installation: Installation, random: Random) =>
        `${place} ${random.between(0, proxiesAt(installation, place).length - 1)}`,
      inflict: async (installation: Installation, target: string, random: Random) => {
        const proxy = proxiesAt(installation, place)[Number(target.split(' ')[1])];
        if (proxy) await inflict(proxy, create(random), random.between(100, 3_000));
      },
    })),
);

function proxiesAt(installation: Installation, place: Place): FaultProxy[] {
  if (place === 'worker-upstream') return [installation.upstreamProxy];
  if (place === 'worker-redis') return installation.workers.map(({ redisProxy }) => redisProxy);
  if (place === 'ingress-redis') return installation.ingresses.map(({ redisProxy }) => redisProxy);
  return installation.ingresses.flatMap(({ clientProxy }) => clientProxy ?? []);
}

async function inflict(
  proxy: FaultProxy,
  fault: ProxyFault | 'reset' | 'forget',
  durationMs: number,
): Promise<void> {
  if (fault === 'reset') {
    proxy.resetAll();
    return;
  }
  if (fault === 'forget') {
    proxy.forgetAll();
    await sleep(forgottenMs);
    return;
  }
  await proxy.set(fault);
  await sleep(durationMs);
  await proxy.set({ kind: 'pass' });
}
