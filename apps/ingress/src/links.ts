import { SluiceError } from '@sluice/canonical';
import { type Logger, maskText } from '@sluice/runtime';
import {
  type Bus,
  checkRedis,
  connected,
  createBus,
  type LostReason,
  openRedis,
  publishHello,
  type RedisClient,
  subscribeNews,
  subscribeReplies,
  WorkerDirectory,
} from '@sluice/transport';
import type { Dispatcher } from './dispatcher.ts';

const connectLimitMs = 5_000;
const silenceLimitMs = 2_000;

/** The connections of an ingress to Redis. */
export interface Links {
  commands: RedisClient;
  subscriber: RedisClient;
  bus: Bus;
  isUp(): boolean;
  createDirectory(onLost: (worker: string, reason: LostReason) => void): WorkerDirectory;
  close(): Promise<void>;
}

/** Connects to Redis and checks that it is one we can work with. Throws a sentence for the operator. */
export async function openLinks(url: string, ingress: string, logger: Logger): Promise<Links> {
  const onError = (error: Error) => logger.warn({ err: error }, 'redis connection error');
  const commands = openRedis(url, { profile: 'command', name: `ingress-${ingress}`, onError });
  const subscriber = openRedis(url, {
    profile: 'subscriber',
    name: `ingress-${ingress}-subscriber`,
    onError,
  });
  const close = async (): Promise<void> => {
    commands.disconnect();
    subscriber.disconnect();
  };
  try {
    const limit = AbortSignal.timeout(connectLimitMs);
    await Promise.all([connected(commands, limit), connected(subscriber, limit)]);
    await checkRedis(commands);
  } catch (error) {
    await close();
    if (!(error instanceof SluiceError)) throw error;
    throw new SluiceError('unavailable', `${error.message} (${maskText(url)})`, { cause: error });
  }
  return {
    commands,
    subscriber,
    bus: createBus(commands, subscriber, (error) => logger.error({ err: error }, 'bad message')),
    isUp: () => commands.status === 'ready',
    createDirectory: (onLost) =>
      new WorkerDirectory({ now: () => performance.now(), silenceLimitMs, onLost }),
    close,
  };
}

/** Listens to replies and presence before anything is served, and asks who is there. */
export async function listenToWorkers(
  { bus }: Links,
  ingress: string,
  dispatcher: Dispatcher,
  directory: WorkerDirectory,
): Promise<void> {
  await subscribeReplies(bus, ingress, (batch) => dispatcher.receive(batch));
  await subscribeNews(bus, (news) => directory.receive(news));
  bus.onResubscribed(() => {
    dispatcher.resubscribed();
    void publishHello(bus, ingress).catch(() => undefined);
  });
  await publishHello(bus, ingress);
}
