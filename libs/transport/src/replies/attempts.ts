import { TimingWheel, TransientMap } from '@sluice/runtime';
import { attemptId } from '../names.ts';
import type { Attempt } from './frame.ts';
import type { AttemptFrames } from './reply-writer.ts';

/**
 * A heartbeat lists the attempts that have moved, and each attempt once in so many heartbeats, so that what was lost is
 * repaired by then. Attempts that began in different heartbeats are listed in different ones, so that no message lists
 * thousands.
 */
const roundBeats = 10;

/** The attempts of a worker that run or whose frames are kept, and which of them a heartbeat lists. */
export class Attempts {
  private readonly byId = new TransientMap<string, AttemptFrames>();
  private readonly wheel = new TimingWheel<AttemptFrames>(1, roundBeats, 0);
  private beats = 0;

  add(frames: AttemptFrames): void {
    this.byId.set(attemptId(frames.claim), frames);
    frames.firstBeat = this.beats + 1;
    this.moved(frames);
  }

  has(attempt: Attempt): boolean {
    return this.byId.has(attemptId(attempt));
  }

  get(attempt: Attempt): AttemptFrames | undefined {
    return this.byId.get(attemptId(attempt));
  }

  delete(attempt: Attempt): void {
    const frames = this.get(attempt);
    if (!frames) return;
    this.byId.delete(attemptId(attempt));
    this.wheel.delete(frames);
    frames.firstBeat = 0;
  }

  values(): Iterable<AttemptFrames> {
    return this.byId.values();
  }

  /** Characters of the frames that are kept for all of them. */
  get keptCharacters(): number {
    let characters = 0;
    for (const frames of this.byId.values()) characters += frames.keptCharacters;
    return characters;
  }

  /** Whether frames are kept for any of them. */
  get keepFrames(): boolean {
    for (const frames of this.byId.values()) if (frames.keptCharacters > 0) return true;
    return false;
  }

  /**
   * Drops frames until no more characters than this are kept: all those of an attempt at a time, since its reader needs
   * every one, of those that have ended before those that run, and of those that began first. Returns of how many.
   */
  keepAtMost(characters: number): number {
    let excess = this.keptCharacters - characters;
    let count = 0;
    for (const isEnded of [true, false]) {
      for (const frames of this.byId.values()) {
        if (excess <= 0) return count;
        if (frames.isEnded !== isEnded || frames.keptCharacters === 0) continue;
        excess -= frames.dropKept();
        count += 1;
      }
    }
    return count;
  }

  /** Whether the next heartbeat ends a round. */
  get endsRound(): boolean {
    return (this.beats + 1) % roundBeats === 0;
  }

  /** Its position is not the one that was told, so the next heartbeat lists it. */
  moved(frames: AttemptFrames): void {
    const next = this.beats + 1;
    // What was deleted may still have something to publish.
    if (frames.dueAt === next || frames.firstBeat === 0) return;
    frames.dueAt = next;
    this.wheel.put(frames);
  }

  /** Begins the next heartbeat, and returns the attempts that it lists. */
  beat(): AttemptFrames[] {
    this.beats += 1;
    const listed: AttemptFrames[] = [];
    this.wheel.turn(this.beats, (frames) => {
      const sinceTurn = (this.beats - frames.firstBeat) % roundBeats;
      frames.dueAt = this.beats + roundBeats - sinceTurn;
      if (sinceTurn === 0 || frames.toldNext !== frames.next) listed.push(frames);
    });
    return listed;
  }
}
