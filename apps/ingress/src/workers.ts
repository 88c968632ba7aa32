import {
  type Bus,
  type LostReason,
  presenceIntervalMs,
  publishHello,
  subscribeNews,
  subscribeReplies,
  WorkerDirectory,
} from '@sluice/transport';
import type { Dispatcher } from './dispatcher.ts';

const silenceLimitMs = 4 * presenceIntervalMs;

/** Who works, by their own word, and who has fallen silent. */
export function createDirectory(onLost: (worker: string, reason: LostReason) => void): WorkerDirectory {
  return new WorkerDirectory({ now: () => performance.now(), silenceLimitMs, onLost });
}

/** Listens to replies and presence before anything is served, and asks who is there. */
export async function listenToWorkers(
  bus: Bus,
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
