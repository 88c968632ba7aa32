import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '../installation/installation.ts';
import type { Observation } from '../observation.ts';
import type { RequestPlan } from '../plan.ts';
import { observeRequest } from './client.ts';

export interface LoadOptions {
  plans: Iterable<RequestPlan>;
  /** Requests under way at the same time. */
  concurrency: number;
}

const refusalPauseMs = 250;

/** Sends all planned requests, `concurrency` at a time, and returns what their clients saw. */
export async function runLoad(
  installation: Installation,
  { plans, concurrency }: LoadOptions,
): Promise<Observation[]> {
  const observations: Observation[] = [];
  const waiting = Iterator.from(plans);
  const sendNext = async (): Promise<void> => {
    // All senders share one iterator, so each takes the next plan that nobody has taken.
    for (const plan of waiting) {
      const observation = await observeRequest(plan, {
        port: installation.ingresses[plan.ingress]?.clientProxy?.port ?? 0,
        apiKey: installation.apiKeys.get(plan.tenant) ?? '',
        patienceMs: installation.deadlineMs + 20_000,
      });
      observations.push(observation);
      // A client that can't connect waits a little, as every SDK does, so that a dead ingress does not get a thousand
      // calls.
      if (observation.end === 'refused') await sleep(refusalPauseMs);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendNext));
  return observations;
}
