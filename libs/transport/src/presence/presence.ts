import { isJsonObject, type ResumeAbility } from '@sluice/canonical';
import type { Bus } from '../bus.ts';
import { ingressesChannel, workersChannel } from '../names.ts';

/** What a worker process serves in one pool. */
export interface PoolPresence {
  /** 0 if it takes no jobs now. */
  slots: number;
  /** Whether and how it can resume a generation that another worker has lost. */
  resume: ResumeAbility;
  /** Whether a job may be on its way to it, which nobody else can tell; absent means no. */
  isReading?: boolean;
}

/** What a worker announces about itself, twice a second. */
export interface WorkerPresence {
  type: 'presence';
  worker: string;
  /** A `draining` worker takes no more jobs, and hands over those that it cannot finish. */
  state: 'ready' | 'draining';
  pools: Record<string, PoolPresence>;
}

/** The news that a worker process has exited, from its supervisor or from the worker as its last message. */
export interface WorkerExited {
  type: 'exited';
  worker: string;
}

/** A message on the channel of workers. */
export type WorkerNews = WorkerPresence | WorkerExited;

/** How often workers announce themselves. */
export const presenceIntervalMs = 500;

/** Tells every ingress. Resolves with how many were told. */
export function publishWorkerNews(bus: Pick<Bus, 'publish'>, news: WorkerNews): Promise<number> {
  return bus.publish(workersChannel, JSON.stringify({ v: 1, ...news }));
}

/**
 * A message on the channel of ingresses.
 * - `hello`: the subscription of this ingress has just been made; who is there, and what runs for it?
 * - `farewell`: it ends, and wants nothing that may be kept for it.
 */
export interface IngressNews {
  type: 'hello' | 'farewell';
  ingress: string;
}

/** Tells every worker. Resolves with how many were told. */
export function publishIngressNews(bus: Bus, news: IngressNews): Promise<number> {
  return bus.publish(ingressesChannel, JSON.stringify({ v: 1, ...news }));
}

/**
 * Subscribes to the news of ingresses. Resolves when the subscription stands. News of an unknown kind or version is
 * ignored.
 */
export function subscribeIngressNews(bus: Bus, receive: (news: IngressNews) => void): Promise<void> {
  return bus.subscribe(ingressesChannel, (text) => {
    const news: unknown = JSON.parse(text);
    if (!isJsonObject(news) || news.v !== 1) return;
    const { type, ingress } = news;
    if ((type === 'hello' || type === 'farewell') && typeof ingress === 'string') receive({ type, ingress });
  });
}

/**
 * Subscribes to the news of workers. Resolves when the subscription stands. Workers of an unknown version are ignored.
 */
export function subscribeWorkerNews(bus: Bus, receive: (news: WorkerNews) => void): Promise<void> {
  return bus.subscribe(workersChannel, (text) => {
    const news: unknown = JSON.parse(text);
    if (!isJsonObject(news) || news.v !== 1) return;
    // Written by publishWorkerNews of the same version.
    receive(news as unknown as WorkerNews);
  });
}
