import { type OpenedRedis, openRedis } from '@sluice/redis';
import type { Clock } from '@sluice/runtime';
import { openRedis as connect, printableAddress } from '@sluice/transport';
import { ensureLocalKey } from './local-key.ts';
import { createSocketPath } from './socket-path.ts';

export interface LocalRedisOptions {
  /** The Redis to use. Absent: one is found or started, as @sluice/redis does. */
  url?: string | undefined;
  environment: NodeJS.ProcessEnv;
  /** The secret from which the local key is derived. */
  keySecret: string;
  clock: Clock;
  say(sentence: string): void;
}

const firstDelayMs = 250;
const longestDelayMs = 5_000;

/** The Redis of the installation. It always knows the local key, and is kept running if it was started here. */
export class LocalRedis {
  private readonly options: LocalRedisOptions;
  private readonly stopped = new AbortController();
  private opened: OpenedRedis;

  private constructor(options: LocalRedisOptions, opened: OpenedRedis) {
    this.options = options;
    this.opened = opened;
  }

  /** Finds or starts a Redis and makes the key. Rejects with one sentence. */
  static async open(options: LocalRedisOptions): Promise<{ redis: LocalRedis; apiKey: string }> {
    const { url, environment, say, keySecret } = options;
    const opened = await openRedis({ url, socket: createSocketPath(), environment, say });
    try {
      const apiKey = await ensureLocalKey(opened.url, keySecret);
      if (opened.origin === 'given') say(`using the Redis at ${printableAddress(opened.url)}`);
      const redis = new LocalRedis(options, opened);
      if (opened.origin === 'started') void redis.keepRunning();
      else redis.keepKey();
      return { redis, apiKey };
    } catch (thrown) {
      await opened.close();
      throw thrown;
    }
  }

  get url(): string {
    return this.opened.url;
  }

  get isGiven(): boolean {
    return this.opened.origin === 'given';
  }

  /** Absent if Redis was given or runs in a container. */
  get pid(): number | undefined {
    return this.opened.server?.pid;
  }

  async close(): Promise<void> {
    this.stopped.abort();
    await this.opened.close();
  }

  /** Makes the key again at every reconnect: a Redis that somebody else restarts may come back empty. */
  private keepKey(): void {
    const { keySecret, say } = this.options;
    const client = connect(this.url, { profile: 'worker', name: 'sluice-start', onError: () => undefined });
    this.stopped.signal.addEventListener('abort', () => client.disconnect());
    client.once('ready', () => {
      client.on('ready', () => {
        ensureLocalKey(this.url, keySecret).catch((error: Error) => say(error.message));
      });
    });
  }

  /** Starts a server that died again at the same address. It comes back empty, so the key is made again. */
  private async keepRunning(): Promise<void> {
    const { clock, environment, keySecret, say } = this.options;
    let delayMs = firstDelayMs;
    for (let { server } = this.opened; server; { server } = this.opened) {
      await server.exited;
      if (this.stopped.signal.aborted) return;
      say(`Redis ended, starting it again in ${delayMs} ms`);
      const isStopped = await clock.sleep(delayMs, this.stopped.signal).then(
        () => false,
        () => true,
      );
      if (isStopped) return;
      delayMs = Math.min(delayMs * 2, longestDelayMs);
      try {
        await this.opened.close();
        const { port, socket } = server;
        this.opened = await openRedis({ own: true, port, socket, environment });
        await ensureLocalKey(this.opened.url, keySecret);
        say(`Redis serves again, empty (process ${this.pid})`);
      } catch (thrown) {
        say(thrown instanceof Error ? thrown.message : 'Redis did not start');
      }
      if (this.stopped.signal.aborted) await this.opened.close();
    }
  }
}
