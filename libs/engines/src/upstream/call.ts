import {
  type ErrorEvent,
  type ErrorInfo,
  errorInfoOf,
  type GenerationEvent,
  isTerminal,
} from '@sluice/canonical';
import type { ClientCodec, GenerationContext, HttpHeaders } from '@sluice/formats';
import type { Dispatcher } from 'undici';
import { type AnswerReader, createAnswerReader } from './answer-reader.ts';
import type { Connections } from './connections.ts';
import { cutOff, presentFailure, silent, unreachable, wasStaleConnection } from './failure.ts';
import type { Limited, TimeLimits } from './time-limits.ts';

/** How long a finished answer may take to close its body, so that the connection can be used again. */
export const lingerMs = 1000;

/** What all calls to one server have in common. */
export interface CallServices {
  connections: Connections;
  limits: TimeLimits;
  codec: ClientCodec;
  credential: string | undefined;
  firstEventTimeoutMs: number;
  idleTimeoutMs: number;
  /** Told once for each answer or failed connection: whether the server is there. */
  onContact(isThere: boolean): void;
}

export interface CallPlan {
  request: Dispatcher.DispatchOptions;
  context: GenerationContext;
  signal: AbortSignal;
  emit(event: GenerationEvent): void;
  onEnd(): void;
}

/**
 * One generation over HTTP: sends the request, reads the answer, guards its time and closes the connection.
 * Exactly one terminal event is emitted, or nothing more once the signal has aborted.
 */
export class UpstreamCall implements Dispatcher.DispatchHandler, Limited {
  dueAt: number;
  private readonly services: CallServices;
  private readonly plan: CallPlan;
  private controller: Dispatcher.DispatchController | undefined;
  private reader: AnswerReader | undefined;
  private hasEvents = false;
  private hasEnded = false;
  private isBodyComplete = false;
  private wasRepeated = false;
  private readonly abort = () => this.finish();

  constructor(services: CallServices, plan: CallPlan) {
    this.services = services;
    this.plan = plan;
    this.dueAt = services.limits.after(services.firstEventTimeoutMs);
  }

  open(): void {
    this.plan.signal.addEventListener('abort', this.abort);
    this.services.limits.watch(this);
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
    this.services.onContact(true);
    try {
      this.reader = createAnswerReader(this.services.codec, this.plan.context, status, headers);
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.hasEnded || !this.reader) return;
    try {
      this.pass(this.reader.push(chunk));
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  onResponseEnd(): void {
    this.isBodyComplete = true;
    try {
      if (!this.hasEnded && this.reader) this.pass(this.reader.end());
    } catch (thrown) {
      this.refuse(thrown);
    }
    if (!this.hasEnded) this.fail(cutOff());
    this.services.limits.forget(this);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.isBodyComplete = true;
    if (this.hasEnded) {
      this.services.limits.forget(this);
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
    this.services.onContact(false);
    this.fail(unreachable(error));
  }

  /** Timers run before sockets are read: if we stood still ourselves, the event may be there. */
  expire(): void {
    this.dueAt = Number.POSITIVE_INFINITY;
    if (this.hasEnded) {
      this.close();
      return;
    }
    setImmediate(() => {
      if (this.dueAt === Number.POSITIVE_INFINITY && !this.hasEnded) this.failSilent();
    });
  }

  private send(): void {
    try {
      this.services.connections.dispatch(this.plan.request, this);
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  /** A codec's complaint about the answer is the generation's failure, not the process's. */
  private refuse(thrown: unknown): void {
    if (!this.hasEnded) this.fail(errorInfoOf(thrown));
  }

  private pass(events: readonly GenerationEvent[]): void {
    if (events.length === 0) return;
    this.hasEvents = true;
    this.dueAt = this.services.limits.after(this.services.idleTimeoutMs);
    for (const event of events) {
      // A receiver may abort in the middle of a batch.
      if (this.hasEnded) return;
      if (event.type === 'error') this.fail(event.error, event);
      else this.emit(event);
    }
  }

  private failSilent(): void {
    const { firstEventTimeoutMs, idleTimeoutMs } = this.services;
    this.fail(silent(this.hasEvents ? idleTimeoutMs : firstEventTimeoutMs, !this.hasEvents));
  }

  private emit(event: GenerationEvent): void {
    this.plan.emit(event);
    if (isTerminal(event) && !this.hasEnded) this.settle();
  }

  private fail(info: ErrorInfo, event: Pick<ErrorEvent, 'usage'> = {}): void {
    const error = presentFailure(info, this.services.credential);
    this.plan.emit({ type: 'error', error, ...(event.usage && { usage: event.usage }) });
    if (!this.hasEnded) this.finish();
  }

  /** The answer is whole: its connection may be used again once the body has ended. */
  private settle(): void {
    this.release();
    if (this.isBodyComplete) this.services.limits.forget(this);
    else this.dueAt = this.services.limits.after(lingerMs);
  }

  /** The rest of the answer, if there is any, is not wanted. */
  private finish(): void {
    this.release();
    this.services.limits.forget(this);
    if (!this.isBodyComplete) this.close();
  }

  private release(): void {
    this.hasEnded = true;
    this.plan.signal.removeEventListener('abort', this.abort);
    this.plan.onEnd();
  }

  private close(): void {
    this.controller?.abort(new Error('the answer is not wanted any more'));
  }
}
