/**
 * How much the loss of a worker speaks against the request that it held. Whoever got on with the answer was more
 * likely taken down by another, and silence may be the network's: so what kills two workers before they say
 * anything is poison, while a bystander outlives two deaths and an outage.
 */
const points: Readonly<Record<'exited' | 'silent', { idle: number; fruitful: number }>> = {
  exited: { idle: 2, fruitful: 1 },
  silent: { idle: 1, fruitful: 0 },
};
const poisonLimit = 3;

/** Whether a request takes its workers down: what speaks for it adds up over its attempts. */
export class Suspicion {
  private sum = 0;

  /** A worker was lost with the request; `isFruitful` when it had delivered something of the answer. */
  add(reason: 'exited' | 'silent', isFruitful: boolean): void {
    this.sum += points[reason][isFruitful ? 'fruitful' : 'idle'];
  }

  /** Whether the request must not be tried again. */
  get isPoison(): boolean {
    return this.sum >= poisonLimit;
  }
}
