import { observeRequest } from '../clients/client.ts';
import type { Observation } from '../observation.ts';
import { type RequestPlan, tenantName } from '../plan.ts';

/** A plain streaming request to the simulated model, with the changes that the scenario needs. */
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

/** Where requests are sent: an installation, or a gateway on another topology of Redis. */
export interface Entrance {
  readonly ingresses: readonly { readonly clientProxy: { readonly port: number } | undefined }[];
  /** Credential by tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
  /** Deadline of every request. */
  readonly deadlineMs: number;
}

/** Sends one request and resolves to what its client saw. */
export function send(
  entrance: Entrance,
  plan: RequestPlan,
  onPiece?: (piece: Buffer) => void,
): Promise<Observation> {
  return observeRequest(plan, {
    port: entrance.ingresses[plan.ingress]?.clientProxy?.port ?? 0,
    apiKey: entrance.apiKeys.get(plan.tenant) ?? '',
    patienceMs: entrance.deadlineMs + 20_000,
    ...(onPiece && { onPiece }),
  });
}

/** Starts requests and resolves when each has received something or has ended; `ended` resolves to all observations. */
export async function openStreams(
  entrance: Entrance,
  plans: readonly RequestPlan[],
): Promise<{ ended: Promise<Observation[]> }> {
  const began: Promise<void>[] = [];
  const ended = Promise.all(
    plans.map((plan) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      began.push(promise);
      return send(entrance, plan, () => resolve()).finally(resolve);
    }),
  );
  await Promise.all(began);
  return { ended };
}

/** Runs clients that send one request after the other until they are told to stop. */
export function keepBusy(
  entrance: Entrance,
  clients: number,
  planOf: (index: number) => RequestPlan,
): { stop(): Promise<Observation[]> } {
  let isOver = false;
  let index = 0;
  const observations: Observation[] = [];
  const work = async (): Promise<void> => {
    while (!isOver) {
      observations.push(await send(entrance, planOf(index++)));
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
