import { observeRequest } from '../client.ts';
import type { Installation } from '../installation.ts';
import type { Observation } from '../observation.ts';
import { type RequestPlan, tenantName } from '../plan.ts';

/** A plain streaming request to the simulated model, changed as the scenario needs it. */
export function plainPlan(index: number, changes: Partial<RequestPlan> = {}): RequestPlan {
  return {
    index,
    format: 'openai',
    isStream: true,
    model: 'sim',
    tokens: 200,
    ttftMs: 5,
    gapMs: 10,
    tenant: tenantName(0),
    ingress: 0,
    client: { kind: 'reads-all' },
    ...changes,
  };
}

/** Sends one request past the fault proxies' records: what the client saw, and nothing else. */
export function send(
  installation: Installation,
  plan: RequestPlan,
  onPiece?: (piece: Buffer) => void,
): Promise<Observation> {
  return observeRequest(plan, {
    port: installation.ingresses[plan.ingress]?.clientProxy?.port ?? 0,
    apiKey: installation.apiKeys.get(plan.tenant) ?? '',
    patienceMs: installation.deadlineMs + 20_000,
    ...(onPiece && { onPiece }),
  });
}

/** Starts requests and resolves when each has received something; `ended` resolves with all of them. */
export async function openStreams(
  installation: Installation,
  plans: readonly RequestPlan[],
): Promise<{ ended: Promise<Observation[]> }> {
  const began: Promise<void>[] = [];
  const ended = Promise.all(
    plans.map((plan) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      began.push(promise);
      return send(installation, plan, () => resolve()).finally(resolve);
    }),
  );
  await Promise.all(began);
  return { ended };
}

/** Clients that send one request after the other until they are told to stop. */
export function keepBusy(
  installation: Installation,
  clients: number,
  planOf: (index: number) => RequestPlan,
): { stop(): Promise<Observation[]> } {
  let isOver = false;
  let index = 0;
  const observations: Observation[] = [];
  const work = async (): Promise<void> => {
    while (!isOver) {
      observations.push(await send(installation, planOf(index++)));
    }
  };
  const running = Promise.all(Array.from({ length: clients }, work));
  return {
    stop: async () => {
      isOver = true;
      await running;
      return observations;
    },
  };
}
