import { isJsonObject, type ResumeAbility } from '@sluice/canonical';
import type { Bus } from '../bus.ts';
import { ingressesChannel, workersChannel } from '../names.ts';

/** What a worker process serves in one pool. */
export interface PoolPresence {
  /** 0 where it takes no jobs now. */
  slots: number;
  /** Whether a generation that another worker lost can go on here. */
  resume: ResumeAbility;
}

/** A worker's word about itself, repeated twice a second. */
export interface WorkerPresence {
  type: 'presence';
  worker: string;
  /** `draining` takes no further jobs and hands over what it can't finish. */
  state: 'ready' | 'draining';
  pools: Record<string, PoolPresence>;
}

/** A supervisor's word that a worker process has died: it will never speak again. */
export interface WorkerExited {
  type: 'exited';
  worker: string;
}

export type WorkerNews = WorkerPresence | WorkerExited;

export const presenceIntervalMs = 500;

export function publishNews(bus: Bus, news: WorkerNews): Promise<number> {
  return bus.publish(workersChannel, JSON.stringify({ v: 1, ...news }));
}

/** An ingress whose subscription has just come up asks all workers who they are and what they run for it. */
export function publishHello(bus: Bus, ingress: string): Promise<number> {
  return bus.publish(ingressesChannel, JSON.stringify({ v: 1, type: 'hello', ingress }));
}

/** Calls `answer` for each ingress whose subscription comes up. Resolves when our own stands. */
export function subscribeHello(bus: Bus, answer: (ingress: string) => void): Promise<void> {
  return bus.subscribe(ingressesChannel, (text) => {
    const hello: unknown = JSON.parse(text);
    if (isJsonObject(hello) && hello.v === 1 && typeof hello.ingress === 'string') answer(hello.ingress);
  });
}

/** Resolves when the subscription stands. News of an unknown version is skipped: such a worker does not exist for us. */
export function subscribeNews(bus: Bus, receive: (news: WorkerNews) => void): Promise<void> {
  return bus.subscribe(workersChannel, (text) => {
    const news: unknown = JSON.parse(text);
    if (!isJsonObject(news) || news.v !== 1) return;
    // Written by publishNews of the same version.
    receive(news as unknown as WorkerNews);
  });
}
