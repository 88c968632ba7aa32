import {
  type ErrorEvent,
  type ErrorInfo,
  errorInfoOf,
  type GenerationEvent,
  isTerminal,
} from '@sluice/canonical';
import type { HttpHeaders } from '@sluice/formats';
import type { Dispatcher } from 'undici';
import type { AnswerReader } from './answer-reader.ts';
import type { Connections } from './connections.ts';
import { cutOff, presentFailure, silent, unreachable, wasStaleConnection } from './failure.ts';

/** How long a finished answer may take to close its body, so that the connection can be used again. */
const lingerMs = 1000;

export interface CallPlan {
  request: Dispatcher.DispatchOptions;
  credential: string | undefined;
  firstEventTimeoutMs: number;
  idleTimeoutMs: number;
  signal: AbortSignal;
  createReader(status: number, headers: HttpHeaders): AnswerReader;
  emit(event: GenerationEvent): void;
  /** Told once for each answer or failed connection: whether the server is there. */
  onContact(isThere: boolean): void;
  onEnd(): void;
}

/**
 * One generation over HTTP: sends the request, reads the answer, guards its time and closes the connection.
 * Exactly one terminal event is emitted, or nothing more once the signal has aborted.
 */
export class UpstreamCall implements Dispatcher.DispatchHandler {
  private readonly connections: Connections;
  private readonly plan: CallPlan;
  private controller: Dispatcher.DispatchController | undefined;
  private reader: AnswerReader | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isOverdue = false;
  private hasEvents = false;
  private hasEnded = false;
  private isBodyComplete = false;
  private wasRepeated = false;
  private readonly abort = () => this.finish();

  constructor(connections: Connections, plan: CallPlan) {
    this.connections = connections;
    this.plan = plan;
  }

  open(): void {
    const { signal, firstEventTimeoutMs } = this.plan;
    signal.addEventListener('abort', this.abort, { once: true });
    this.timer = setTimeout(() => this.expire(), firstEventTimeoutMs);
    this.send();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.hasEnded) this.close();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: HttpHeaders): void {
    // Pieces of the buffer that was read, which they would hold as long as the answer lasts: 2.2 KB per stream.
    controller.rawHeaders = null;
    // Interim answers (103 and the like) announce the real one.
    if (this.hasEnded || status < 200) return;
    this.plan.onContact(true);
    this.attempt(() => {
      this.reader = this.plan.createReader(status, headers);
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { reader } = this;
    if (!this.hasEnded && reader) this.attempt(() => this.pass(reader.push(chunk)));
  }

  onResponseEnd(): void {
    this.isBodyComplete = true;
    const { reader } = this;
    if (!this.hasEnded && reader) this.attempt(() => this.pass(reader.end()));
    if (!this.hasEnded) this.fail(cutOff());
    clearTimeout(this.timer);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.isBodyComplete = true;
    if (this.hasEnded) {
      clearTimeout(this.timer);
      return;
    }
    if (this.reader) {
      this.fail(cutOff());
      return;
    }
    if (!this.wasRepeated && wasStaleConnection(error)) {
      this.wasRepeated = true;
      this.isBodyComplete = false;
      this.send();
      return;
    }
    this.plan.onContact(false);
    this.fail(unreachable(error));
  }

  private send(): void {
    this.attempt(() => this.connections.dispatch(this.plan.request, this));
  }

  /** A codec's complaint about the answer is the generation's failure, not the process's. */
  private attempt(step: () => void): void {
    try {
      step();
    } catch (thrown) {
      if (!this.hasEnded) this.fail(errorInfoOf(thrown));
    }
  }

  private pass(events: readonly GenerationEvent[]): void {
    if (events.length === 0) return;
    this.restartTimer();
    for (const event of events) {
      // A receiver may abort in the middle of a batch.
      if (this.hasEnded) return;
      if (event.type === 'error') this.fail(event.error, event);
      else this.emit(event);
    }
  }

  private restartTimer(): void {
    this.isOverdue = false;
    if (this.hasEvents) {
      this.timer?.refresh();
      return;
    }
    this.hasEvents = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.expire(), this.plan.idleTimeoutMs);
  }

  /** Timers run before sockets are read: if we stood still ourselves, the event may be there. */
  private expire(): void {
    this.isOverdue = true;
    setImmediate(() => {
      if (this.isOverdue && !this.hasEnded) this.failSilent();
    });
  }

  private failSilent(): void {
    const { firstEventTimeoutMs, idleTimeoutMs } = this.plan;
    this.fail(silent(this.hasEvents ? idleTimeoutMs : firstEventTimeoutMs, !this.hasEvents));
  }

  private emit(event: GenerationEvent): void {
    this.plan.emit(event);
    if (isTerminal(event) && !this.hasEnded) this.settle();
  }

  private fail(info: ErrorInfo, event: Pick<ErrorEvent, 'usage'> = {}): void {
    const error = presentFailure(info, this.plan.credential);
    this.plan.emit({ type: 'error', error, ...(event.usage && { usage: event.usage }) });
    if (!this.hasEnded) this.finish();
  }

  /** The answer is whole: its connection may be used again once the body has ended. */
  private settle(): void {
    this.release();
    if (!this.isBodyComplete) this.timer = setTimeout(() => this.close(), lingerMs);
  }

  /** The rest of the answer, if there is any, is not wanted. */
  private finish(): void {
    this.release();
    if (!this.isBodyComplete) this.close();
  }

  private release(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.plan.signal.removeEventListener('abort', this.abort);
    this.plan.onEnd();
  }

  private close(): void {
    this.controller?.abort(new Error('the answer is not wanted any more'));
  }
}
