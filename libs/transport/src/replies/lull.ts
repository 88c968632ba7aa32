/** Turns of the event loop in a row that must bring nothing. */
const quietTurns = 2;
/** The longest that anything waits for a lull, in milliseconds. */
const longestWaitMs = 0.3;

/** What gathers until it is sent. */
export interface Burst {
  /** How much has gathered. */
  size(): number;
  /** Whether somebody waits for a part of it. */
  isUrgent(): boolean;
  send(): void;
}

/**
 * Sends a burst once, at the next lull: when two turns of the event loop in a row have left its size as it was, or
 * after 0.3 ms. What is urgent is sent after the turn that brings it.
 *
 * What many sockets say comes in bursts, and takes several turns to read. Whoever sends after each turn sends a burst
 * in small parts, and each part wakes its receivers, who take the cores from those who still speak.
 */
export type AtLull = (burst: Burst) => void;

/** `AtLull` by the process's own event loop. */
export const atLull: AtLull = (burst) => waitForLull(burst, ownLoop);

/** What a wait for a lull runs on. */
export interface LullServices {
  /** Runs a callback after this turn of the event loop. */
  afterTurn(callback: () => void): void;
  /** Monotonic milliseconds. */
  now(): number;
}

const ownLoop: LullServices = { afterTurn: setImmediate, now: () => performance.now() };

/** `AtLull` by any event loop. */
export function waitForLull(burst: Burst, { afterTurn, now }: LullServices): void {
  const until = now() + longestWaitMs;
  let known = 0;
  let quiet = 0;
  const look = (): void => {
    const size = burst.size();
    quiet = size === known ? quiet + 1 : 0;
    known = size;
    if (quiet < quietTurns && now() < until && !burst.isUrgent()) afterTurn(look);
    else burst.send();
  };
  afterTurn(look);
}
