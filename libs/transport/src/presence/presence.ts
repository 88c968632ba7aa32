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
export function publishNews(bus: Pick<Bus, 'publish'>, news: WorkerNews): Promise<number> {
  return bus.publish(workersChannel, JSON.stringify({ v: 1, ...news }));
}

/** Asks all workers who they are and what they run for this ingress, whose subscription has just been made. */
export function publishHello(bus: Bus, ingress: string): Promise<number> {
  return bus.publish(ingressesChannel, JSON.stringify({ v: 1, type: 'hello', ingress }));
}

/** Calls `answer` with each ingress that asks by a hello. Resolves when our own subscription stands. */
export function subscribeHello(bus: Bus, answer: (ingress: string) => void): Promise<void> {
  return bus.subscribe(ingressesChannel, (text) => {
    const hello: unknown = JSON.parse(text);
    if (isJsonObject(hello) && hello.v === 1 && typeof hello.ingress === 'string') answer(hello.ingress);
  });
}

/**
 * Subscribes to the news of workers. Resolves when the subscription stands. Workers of an unknown version are ignored.
 */
export function subscribeNews(bus: Bus, receive: (news: WorkerNews) => void): Promise<void> {
  return bus.subscribe(workersChannel, (text) => {
    const news: unknown = JSON.parse(text);
    if (!isJsonObject(news) || news.v !== 1) return;
    // Written by publishNews of the same version.
    receive(news as unknown as WorkerNews);
  });
}
