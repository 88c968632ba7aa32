import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Schedule } from './schedule.ts';
import type { SimulatedClient } from './simulated-client.ts';
import type { Run, SimulatedWorker } from './simulated-worker.ts';

/** By then the first presence has arrived, unless a fault came first. */
const firstPresenceMs = 150;

/** The state of everything when a play is over. */
export interface Scene {
  readonly schedule: Schedule;
  readonly clients: readonly SimulatedClient[];
  readonly runs: readonly Run[];
  readonly workers: readonly SimulatedWorker[];
  readonly dispatcher: Pick<Dispatcher, 'count'>;
  /** Workers that the ingress has given up as dead. */
  readonly lostWorkers: number;
  /** Jobs that Redis took while its reply was lost. */
  readonly lostAnswers: number;
}

/**
 * Names the first promise that was broken at the end; absent if all were kept. The promises about single events are
 * checked by the clients during the play.
 */
export function findBrokenPromise(scene: Scene): string | undefined {
  for (const client of scene.clients) {
    const broken = findBrokenTo(client, scene);
    if (broken !== undefined) return `${client.id} ${broken}`;
  }
  if (scene.dispatcher.count > 0) return 'the dispatcher holds what has ended';
  const busy = scene.workers.find((worker) => !worker.isIdle);
  return busy && `${busy.id} holds what nobody waits for`;
}

function findBrokenTo(client: SimulatedClient, scene: Scene): string | undefined {
  const { schedule, runs, lostWorkers } = scene;
  const { faults, resume, bus } = schedule;
  const { id, isOver, machine, outcome, request } = client;
  if (!isOver) return 'has no end';

  const count = runs.filter(({ requestId }) => requestId === id).length;
  const twice = faults.filter(({ kind }) => kind === 'job-given-out-twice').length;
  // A command whose reply was lost is sent again although Redis has executed it, so its attempt can run twice, too.
  const explained = (machine?.attempt ?? 0) + twice + scene.lostAnswers;
  if (count > explained) return `ran ${count} times in ${machine?.attempt} attempts`;

  const killed = findKilled(client, scene);
  if (killed !== undefined) return killed;

  if (outcome !== 'error' || request.oddity) return undefined;
  // A drain is announced in a message that can be lost, and in an error that cannot.
  const hasLosses = lostWorkers > 0 || faults.some(({ kind }) => kind === 'drain' || kind === 'crash');
  if (!hasLosses) return 'failed though no worker was lost';
  // A generation may be given up only after it has lost two workers, if it can be resumed exactly (and the ingress
  // knows that) or if its client has seen nothing of it yet.
  const isPresenceHeard = bus.loss === 0 && !faults.some(({ at }) => at < firstPresenceMs);
  const goesOn = resume === 'exact' || !request.isStream;
  if (goesOn && isPresenceHeard && lostWorkers < 2) return 'failed with its first worker';
  return undefined;
}

/** Three deaths are the most that a request may cause, and two when nothing was ever heard of it. */
function findKilled({ id, request }: SimulatedClient, { schedule, runs }: Scene): string | undefined {
  const { oddity } = request;
  if (oddity !== 'kills-its-worker' && oddity !== 'kills-at-once') return undefined;
  // If messages are lost, a death may be counted against another request or against none.
  const isHeard = schedule.bus.loss === 0 && schedule.faults.every(({ kind }) => kind === 'crash');
  const killed = runs.filter((run) => run.requestId === id && run.endedAt === undefined).length;
  const most = oddity === 'kills-at-once' ? 2 : 3;
  return isHeard && killed > most ? `took ${killed} workers along` : undefined;
}
