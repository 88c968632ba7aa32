import type { TraceContext } from '@sluice/canonical';
import type { Logger } from '../logging/logger.ts';

/** What is known of a span at its end. Attributes that are `undefined` are left out. Never content or a credential. */
export interface SpanEnd {
  /** Monotonic milliseconds. */
  at: number;
  attributes: Readonly<Record<string, string | number | boolean | undefined>>;
  /** What kind of error makes it a failed one; absent if it is none. */
  error?: string | undefined;
}

/** One span of a trace. Times are monotonic milliseconds of this process. */
export interface TraceSpan {
  readonly traceId: string;
  /** For what is called on behalf of this span. */
  readonly context: TraceContext;
  /** Adds a part of the span that is over already. */
  addPart(name: string, startedAt: number, endedAt: number): void;
  addEvent(name: string, at: number): void;
  /** Call it once, last. */
  end(facts: SpanEnd): void;
}

/** How a span begins. */
export interface SpanStart {
  name: string;
  /** `server`: answers a call; `client`: calls somebody. */
  kind: 'server' | 'client';
  /** Monotonic milliseconds. */
  startedAt: number;
  /** The caller's. Without one, the span begins a trace. */
  parent: TraceContext | undefined;
}

/** Records spans and sends them to a collector, in the background. None of its methods throws. */
export interface Tracing {
  startSpan(start: SpanStart): TraceSpan;
  /** Sends what is left. Resolves when that is done, or after two seconds. */
  close(): Promise<void>;
}

/** Whose spans they are, and who is told if they do not arrive. */
export interface TracingOptions {
  /** `service.name`, unless the environment sets another. */
  service: string;
  /** `service.instance.id`: the id of the process. */
  instance: string;
  logger: Pick<Logger, 'warn' | 'info'>;
}
