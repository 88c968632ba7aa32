import { type Attempt, encodeBatch, type Gone, type Running } from './frame.ts';

/** Characters. A message gets no further frame that would make it longer than this. */
const batchLimit = 256 * 1024;

/** Packs what an ingress is told after one turn into messages, and posts each when it is full. */
export class BatchPacker {
  private readonly worker: string;
  private readonly post: (text: string, frames: number) => void;
  private claims: readonly Attempt[];
  private frames: string[] = [];
  private characters = 0;

  /** The claims go first. */
  constructor(worker: string, claims: readonly Attempt[], post: (text: string, frames: number) => void) {
    this.worker = worker;
    this.claims = claims;
    this.post = post;
  }

  add(frame: string): void {
    const { worker, claims, frames } = this;
    if (frames.length > 0 && this.characters + frame.length > batchLimit) {
      this.post(encodeBatch({ worker, claims, frames }), frames.length);
      [this.claims, this.frames, this.characters] = [[], [], 0];
    }
    this.frames.push(frame);
    this.characters += frame.length;
  }

  /**
   * Posts what is left. The positions go last: an ingress that got fewer frames than its position says asks for the
   * rest at once.
   */
  finish(running: readonly Running[], gone: readonly Gone[]): void {
    const { worker, claims, frames } = this;
    if (claims.length + frames.length + running.length + gone.length === 0) return;
    this.post(encodeBatch({ worker, claims, frames, running, gone }), frames.length);
  }
}
