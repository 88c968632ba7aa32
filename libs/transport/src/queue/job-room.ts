import { bytesPerJsonValue, countJsonValues } from '@sluice/canonical';

/**
 * The memory that the jobs of one process may fill while they run; its consumers share it. Free slots alone would take
 * as many large prompts as they are, and end the process.
 */
export class JobRoom {
  private readonly limitBytes: number;
  private readonly onFull: () => void;
  private taken = 0;
  private hasBeenFull = false;
  private lastTurn: Promise<unknown> = Promise.resolve();

  /** `onFull` is called when the room becomes full for the first time; default: nothing is. */
  constructor(limitBytes: number, onFull: () => void = () => undefined) {
    this.limitBytes = limitBytes;
    this.onFull = onFull;
  }

  /** Bytes of the jobs that run. The last one claimed may have gone past the limit. */
  get takenBytes(): number {
    return this.taken;
  }

  /** Whether no job is to be claimed. Never while none runs, so a job that is larger than the room runs alone. */
  get isFull(): boolean {
    return this.taken >= this.limitBytes;
  }

  /** Runs claims of large jobs one after the other, so that each can see whether the one before has filled the room. */
  inTurn(claim: () => Promise<void>): Promise<void> {
    const turn = this.lastTurn.then(claim);
    this.lastTurn = turn.catch(() => undefined);
    return turn;
  }

  take(bytes: number): void {
    this.taken += bytes;
    if (!this.isFull || this.hasBeenFull) return;
    this.hasBeenFull = true;
    this.onFull();
  }

  give(bytes: number): void {
    this.taken -= bytes;
  }
}

/** A job of fewer characters is not counted, which takes a microsecond, but taken for as dense as most are. */
const countedFrom = 4_096;
const usualCharactersPerValue = 10;

/**
 * Bytes that a job takes on the heap once it is parsed, for its strings and its values; a whole number. 300 jobs, each
 * with 60 KB of empty objects as the parameters of a function, ended a worker with a heap of 256 MB.
 */
export function heapBytesOf(data: string): number {
  const isCounted = data.length >= countedFrom;
  const values = isCounted ? countJsonValues(data) : Math.ceil(data.length / usualCharactersPerValue);
  return textBytesOf(data) + values * bytesPerJsonValue;
}

/** V8 keeps one byte per character only where all of them fit. */
function textBytesOf(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}
