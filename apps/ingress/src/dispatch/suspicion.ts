/**
 * How strongly the loss of a worker counts against a request that it held. A request that made progress is more likely
 * the victim of another, and silence may be the network's fault. So a request becomes poison with the second death
 * before any output, or else with the third. A bystander that made progress in one of two deaths goes on, even if it
 * had just been moved to the very worker that its neighbour killed next.
 *
 * `unclaimed`: the job vanished while a worker of its pool died, which may have taken it and died before it could say
 * so.
 */
const points: Readonly<Record<Loss, { idle: number; fruitful: number }>> = {
  exited: { idle: 3, fruitful: 2 },
  silent: { idle: 2, fruitful: 0 },
  unclaimed: { idle: 2, fruitful: 2 },
};
const poisonLimit = 6;
/**
 * What is left of an idle silence once its worker is heard again. The request has not taken it down. It may hold its
 * workers up, though, and then costs their other requests time with each attempt.
 */
const pointsOfHeardAgain = 1;

/** How a request may have lost a worker. */
export type Loss = 'exited' | 'silent' | 'unclaimed';

/** Judges whether a request takes its workers down. The points of its attempts add up. */
export class Suspicion {
  private sum = 0;
  /** Workers whose idle silence counts in full; absent until the first. */
  private silent: Set<string> | undefined;

  /**
   * A worker was lost with the request. `isFruitful`: whether this attempt had delivered some of the answer. `worker`:
   * who was lost; absent if nobody had claimed the job.
   */
  add(reason: Loss, isFruitful: boolean, worker?: string): void {
    this.sum += points[reason][isFruitful ? 'fruitful' : 'idle'];
    if (reason !== 'silent' || isFruitful || worker === undefined) return;
    this.silent ??= new Set();
    this.silent.add(worker);
  }

  /** A worker lives that had perhaps fallen silent with the request. */
  heardAgain(worker: string): void {
    if (this.silent?.delete(worker)) this.sum -= points.silent.idle - pointsOfHeardAgain;
  }

  /** Whether the request must not be tried again. */
  get isPoison(): boolean {
    return this.sum >= poisonLimit;
  }
}
