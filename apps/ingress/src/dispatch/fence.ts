/** The attempts of one generation that no longer count and were told to stop: each once, until it is heard to go on. */
export class Fence {
  /** Absent until the first. */
  private told: Set<string> | undefined;

  /** Whether this attempt still has to be told. It counts as told from then on. */
  mustTell(worker: string, attempt: number): boolean {
    const key = `${worker} ${attempt}`;
    this.told ??= new Set();
    if (this.told.has(key)) return false;
    this.told.add(key);
    return true;
  }

  /** The attempt is heard to run. If it had been told to stop, it has missed that, and is told again. */
  heardToRun(worker: string, attempt: number): void {
    this.told?.delete(`${worker} ${attempt}`);
  }
}
