import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { startRedisServer } from './server.ts';

/** What takes longer than 50 ms, as Redis itself counts time. */
const slowScript = `
  local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local from = now()
  while now() - from < 60000 do end
`;

it('redis.conf has Redis watch what is slow, as the alert for a slow one asks it', async () => {
  const text = readFileSync(new URL('../redis.conf', import.meta.url), 'utf8');
  const settings = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  // The server has an address of its own, and `save ""` already.
  const others = settings.filter((line) => !/^(bind|save) /.test(line));
  const server = await startRedisServer({
    arguments: others.flatMap((line) => `--${line}`.split(' ')),
  });
  const redis = new Redis(server.url);
  try {
    await redis.eval(slowScript, 0);
    expect(await redis.call('LATENCY', 'DOCTOR')).toMatch(/command: \d+ latency spikes/);
  } finally {
    redis.disconnect();
    await server.stop();
  }
});
