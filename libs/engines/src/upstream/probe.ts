import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';
import type { Dispatcher } from 'undici';
import type { Availability } from '../engine.ts';
import { codeOf } from './failure.ts';

/** How soon a server that was unavailable is probed again. */
const retryMs = 500;
/** The finding for a server that accepts connections but says nothing: it may be busy with its work. */
const silence = 'no answer';
/**
 * The longest time that a server is in doubt after it refused a call: it is there, but its answer to a probe may take
 * time.
 */
const refusalDoubtMs = 2 * retryMs;
/** After how many failed probes in a row a server counts as gone. */
const goneLimit = 2;

/** How a server is probed, and who is told of changes. */
export interface ProbeOptions {
  /** Scheme, host and port; used in messages for operators. */
  origin: string;
  path: string;
  headers: Record<string, string>;
  timeoutMs: number;
  intervalMs: number;
  /** Monotonic milliseconds. */
  now(): number;
  /**
   * Called when the server goes away, with the reason, and when it is back; at most twice a second. Also called once
   * for a server that is awaited at the start.
   */
  onChange(isThere: boolean, why?: string): void;
}

/** Knows whether the server is there: from the calls that are made anyway, and from probes when there are none. */
export class Probe {
  private readonly dispatcher: Dispatcher;
  private readonly options: ProbeOptions;
  private isThere = false;
  private wasThere = false;
  private absence: string | undefined;
  private contactAt = 0;
  /** How many probes in a row found it gone. */
  private gone = 0;
  private askedAt = Number.NEGATIVE_INFINITY;
  private doubtedUntil = Number.NEGATIVE_INFINITY;
  private isAsking = false;
  private interval: NodeJS.Timeout | undefined;
  private readonly stopping = new AbortController();

  constructor(dispatcher: Dispatcher, options: ProbeOptions) {
    this.dispatcher = dispatcher;
    this.options = options;
  }

  get isReady(): boolean {
    return this.isThere;
  }

  get availability(): Availability {
    if (this.gone >= goneLimit) return 'away';
    return this.options.now() < this.doubtedUntil ? 'in-doubt' : 'here';
  }

  /** Records what a call met: the status of an answer, or the reason why there was none. */
  met(status: number | undefined, why?: string): void {
    this.note(status !== undefined, why);
    if (canServe(status)) this.trust();
    // Nobody answered. Another connection attempt may take the full time-out, and every job sent meanwhile would lose
    // as much.
    else this.doubt(status === undefined ? Number.POSITIVE_INFINITY : refusalDoubtMs);
  }

  private note(isThere: boolean, why?: string): void {
    this.isThere = isThere;
    this.absence = why;
    this.contactAt = this.options.now();
  }

  private trust(): void {
    this.gone = 0;
    this.doubtedUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * A call found nobody, or a server that cannot serve it. Probes whether that holds for all calls, and doubts the
   * server until then, but not longer than this.
   */
  private doubt(longestMs: number): void {
    const at = this.options.now();
    const wasAsked = !this.isAsking && at - this.askedAt < retryMs;
    if (wasAsked || this.stopping.signal.aborted || this.interval === undefined) return;
    this.doubtedUntil = Math.max(this.doubtedUntil, at + longestMs);
    if (!this.isAsking) void this.askOnce();
  }

  /** Probes until the server answers. Rejects after `timeoutMs`, on abort, and at once if it refuses the credential. */
  async awaitServer(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { origin } = this.options;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs), this.stopping.signal]);
    /** What was found last; absent while nothing was. */
    let known: string | undefined;
    for (let found = await this.ask(limit); found !== undefined; found = await this.ask(limit)) {
      if (found === '401')
        throw new SluiceError('unavailable', `${origin} refuses the credential of this backend`);
      // Who asks when the time is up has found out nothing.
      if (!limit.aborted) {
        if (known === undefined) this.options.onChange(false, `waiting for ${origin}: ${found}`);
        known = found;
      }
      const isOver = await sleep(retryMs, false, { signal: limit }).catch(() => true);
      if (!isOver && !limit.aborted) continue;
      const fact = signal.aborted ? 'was not waited for any longer' : `did not answer in ${timeoutMs} ms`;
      throw new SluiceError('unavailable', `${origin} ${fact}: ${known ?? found}`);
    }
    if (known !== undefined) this.options.onChange(true);
    this.wasThere = this.isThere;
    this.interval = setInterval(() => this.tick(), Math.min(retryMs, this.options.intervalMs));
    // Probing is no reason to keep a process alive.
    this.interval.unref();
  }

  stop(): void {
    clearInterval(this.interval);
    this.stopping.abort();
    this.isThere = false;
  }

  private tick(): void {
    if (this.isThere !== this.wasThere) {
      this.wasThere = this.isThere;
      const { onChange, origin } = this.options;
      if (this.absence === undefined) onChange(this.isThere);
      else onChange(this.isThere, `${origin}: ${this.absence}`);
    }
    void this.askIfDue();
  }

  private async askIfDue(): Promise<void> {
    const { now, intervalMs } = this.options;
    const isQuiet = now() - this.contactAt >= intervalMs;
    if (this.isAsking || (this.isThere && this.gone === 0 && !isQuiet)) return;
    await this.askOnce();
  }

  private async askOnce(): Promise<void> {
    this.isAsking = true;
    this.askedAt = this.options.now();
    const found = await this.ask(this.stopping.signal);
    this.isAsking = false;
    if (found === undefined || found === silence) this.trust();
    else {
      this.gone += 1;
      // It is probed again at once, which will decide.
      this.doubtedUntil = Number.POSITIVE_INFINITY;
    }
  }

  /** Absent if the server is there; otherwise what was found instead. Never rejects. */
  private async ask(signal: AbortSignal): Promise<string | undefined> {
    const { origin, path, headers, timeoutMs } = this.options;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const found = await this.dispatcher
      .request({ origin, path, method: 'GET', headers, signal: limit })
      .then(async ({ statusCode, body }) => {
        await body.dump();
        return canServe(statusCode) ? undefined : String(statusCode);
      })
      .catch((error: unknown) => codeOf(error) ?? silence);
    if (!signal.aborted) this.note(found === undefined, found);
    return found;
  }
}

/**
 * Whether a server with this status may serve another call. One that refuses our credential refuses it for all calls.
 */
function canServe(status: number | undefined): boolean {
  return status !== undefined && status < 500 && status !== 401;
}
