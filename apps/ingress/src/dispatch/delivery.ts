import { type IngressMetrics, type Lifecycle, type Logger, steadyNow } from '@sluice/runtime';
import {
  announceIngress,
  createJobQueue,
  createOrderSender,
  hearsReplies,
  type JobQueue,
  type Links,
  presenceIntervalMs,
  publishIngressNews,
  repliesReach,
  subscribeReplies,
  subscribeWorkerNews,
  WorkerDirectory,
} from '@sluice/transport';
import { Dispatcher } from './dispatcher.ts';

const silenceLimitMs = 4 * presenceIntervalMs;
const tickIntervalMs = 250;
const lookIntervalMs = 1_000;

/** The way of jobs to the workers, and of answers back. */
export interface Delivery {
  queue: JobQueue;
  /** Which workers there are, as they announce themselves, and which have fallen silent. */
  directory: WorkerDirectory;
  dispatcher: Dispatcher;
}

/**
 * Opens the delivery of this ingress. Resolves once replies can arrive and all workers have been asked for their
 * presence.
 */
export async function openDelivery(
  links: Links,
  { ingress, lifecycle, metrics, logger }: DeliverySurroundings,
): Promise<Delivery> {
  const { commands, bus } = links;
  const queue = createJobQueue(commands);
  lifecycle.onDrain('queue', () => queue.close());
  const directory = new WorkerDirectory({
    now: () => performance.now(),
    silenceLimitMs,
    onLost: (worker, reason, isExpected) => {
      if (!isExpected) logger.warn({ worker, reason }, 'worker lost');
      else logger.info({ worker }, reason === 'draining' ? 'worker drains' : 'worker has left');
      dispatcher.workerLost(worker, reason);
    },
    onHeardAgain: (worker) => {
      logger.info({ worker }, 'worker is heard again');
      dispatcher.heardAgain(worker);
    },
  });
  const orders = createOrderSender(bus, ingress);
  lifecycle.onDrain('orders', async () => {
    await orders.flush();
    // What no acknowledgement reaches any more would hold up a worker that drains.
    await publishIngressNews(bus, { type: 'farewell', ingress }).catch(() => undefined);
  });
  const dispatcher = new Dispatcher({
    queue,
    orders,
    directory,
    metrics,
    logger,
    now: steadyNow,
    isListening: () => links.isListening(),
    hearsReplies: () => hearsReplies(links, ingress),
    repliesReach: () => repliesReach(links, ingress),
  });
  await subscribeReplies(bus, ingress, (batch) => dispatcher.receive(batch));
  await subscribeWorkerNews(bus, (news) => directory.receive(news));
  const sayHello = () => publishIngressNews(bus, { type: 'hello', ingress });
  bus.onResubscribed(() => {
    dispatcher.resubscribed();
    void sayHello().catch(() => undefined);
  });
  await links.patiently(sayHello);
  const stopAnnouncing = await links.patiently(() => announceIngress(commands, ingress));
  lifecycle.onDrain('presence', stopAnnouncing);

  const ticking = setInterval(() => dispatcher.tick(), tickIntervalMs);
  const looking = setInterval(() => void dispatcher.lookForLost(), lookIntervalMs);
  lifecycle.onDrain('ticks', async () => {
    clearInterval(looking);
    clearInterval(ticking);
  });
  return { queue, directory, dispatcher };
}

interface DeliverySurroundings {
  /** Id of this process. */
  ingress: string;
  lifecycle: Pick<Lifecycle, 'onDrain'>;
  metrics: IngressMetrics;
  logger: Logger;
}
