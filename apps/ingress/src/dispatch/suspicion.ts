/**
 * How much the loss of a worker speaks against the request that it held. Whoever got on with the answer was more
 * likely taken down by another, and silence may be the network's. So two workers that die before the request has said
 * anything make it poison, else the third that dies does; a bystander that got on at one of two deaths goes on, also
 * when it had just been moved to the worker that its neighbour took down next.
 *
 * `unclaimed`: its job vanished while a worker of its pool died, which may have had it and died before it could say so.
 */
const points: Readonly<Record<Loss, { idle: number; fruitful: number }>> = {
  exited: { idle: 3, fruitful: 2 },
  silent: { idle: 2, fruitful: 0 },
  unclaimed: { idle: 2, fruitful: 2 },
};
const poisonLimit = 6;

/** How a request may have lost a worker. */
export type Loss = 'exited' | 'silent' | 'unclaimed';

/** Whether a request takes its workers down: what speaks for it adds up over its attempts. */
export class Suspicion {
  private sum = 0;

  /** A worker was lost with the request; `isFruitful` when this attempt had delivered something of the answer. */
  add(reason: Loss, isFruitful: boolean): void {
    this.sum += points[reason][isFruitful ? 'fruitful' : 'idle'];
  }

  /** Whether the request must not be tried again. */
  get isPoison(): boolean {
    return this.sum >= poisonLimit;
  }
}
