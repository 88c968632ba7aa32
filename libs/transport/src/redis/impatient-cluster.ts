import { Cluster } from 'ioredis';

/** The counter that ioredis keeps per command. Here, its identity stands for the command. */
type Redirections = Parameters<Cluster['handleError']>[1];
type Ways = Parameters<Cluster['handleError']>[2];

/** How long after its first failure a command may be sent again while no master takes it. */
const patienceMs = 800;

/**
 * A cluster client that gives a command up in time. If the connection closes, ioredis sends the command again, 16
 * times, and a connection to a frozen master closes only after a wait: many commands at once took 6 to 16 s to fail.
 */
export class ImpatientCluster extends Cluster {
  readonly #failedFirstAt = new WeakMap<Redirections, number>();

  override handleError(error: Error, redirections: Redirections, ways: Ways): void {
    const now = performance.now();
    const failedFirstAt = this.#failedFirstAt.get(redirections);
    if (failedFirstAt === undefined) this.#failedFirstAt.set(redirections, now);
    else if (saysThatNoMasterIsThere(error) && now - failedFirstAt > patienceMs) {
      ways.defaults();
      return;
    }
    super.handleError(error, redirections, ways);
  }
}

function saysThatNoMasterIsThere({ message }: Error): boolean {
  return message === 'Connection is closed.' || message.startsWith('CLUSTERDOWN');
}
