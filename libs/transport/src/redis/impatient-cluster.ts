import { Cluster } from 'ioredis';

/** What ioredis counts of one command: an object per command, which is all that tells commands apart here. */
type Redirections = Parameters<Cluster['handleError']>[1];
type Ways = Parameters<Cluster['handleError']>[2];

/** How long a command of somebody who waits is sent again because nobody takes it, after it failed first. */
const patienceMs = 800;

/**
 * A cluster that gives a command up in time. ioredis sends one 16 times when connections close under it, and one to a
 * master that stands still closes only after it was waited for: many commands at once took 6 to 16 s until they failed.
 */
export class ImpatientCluster extends Cluster {
  readonly #failedFirstAt = new WeakMap<Redirections, number>();

  override handleError(error: Error, redirections: Redirections, ways: Ways): void {
    const now = performance.now();
    const failedFirstAt = this.#failedFirstAt.get(redirections);
    if (failedFirstAt === undefined) this.#failedFirstAt.set(redirections, now);
    else if (saysNobodyIsThere(error) && now - failedFirstAt > patienceMs) {
      ways.defaults();
      return;
    }
    super.handleError(error, redirections, ways);
  }
}

function saysNobodyIsThere({ message }: Error): boolean {
  return message === 'Connection is closed.' || message.startsWith('CLUSTERDOWN');
}
