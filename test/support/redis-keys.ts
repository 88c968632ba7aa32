import { Redis } from 'ioredis';

/** Keys that belong to the installation and not to a request: those of queues, of tenants, and mean service times. */
const lasting = [
  /^sluice:\{tenancy\}:/,
  /^sluice:\{t:[^}]+\}:/,
  /^sluice:\{p:[^}]+\}:inference-[a-z0-9-]+:(meta|id|events|marker|pc)$/,
  /^sluice:\{p:[^}]+\}:service:mean$/,
  /^sluice:admission:slots$/,
];

/** Keys in Redis that neither belong to the installation nor expire by themselves. */
export async function leftoverKeys(url: string): Promise<string[]> {
  const redis = new Redis(url);
  try {
    const left: string[] = [];
    for (const key of await redis.keys('*')) {
      if (lasting.some((pattern) => pattern.test(key))) continue;
      if ((await redis.pttl(key)) === -1) left.push(key);
    }
    return left;
  } finally {
    redis.disconnect();
  }
}
