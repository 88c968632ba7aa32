import type { GenerationEvent, InferenceRequest, TraceContext } from '@sluice/canonical';
import type { Model, Pool } from '@sluice/catalog';
import type { ClientCall, StreamEncoder } from '@sluice/formats';
import type { Caller } from '@sluice/tenancy';
import type { Services } from '../services.ts';

/** One request with everything that its answer by one model depends on. */
export interface AnswerPlan {
  /** Unique among all answers, and begins with the id of the request. */
  id: string;
  request: InferenceRequest;
  call: ClientCall;
  caller: Caller;
  model: Model;
  pool: Pool;
  /** Whether another model's answer to this request was admitted before. Absent means no. */
  isCounted?: boolean;
  /** Steady epoch milliseconds. */
  deadlineAt: number;
  /** Absent if none is known. */
  trace: TraceContext | undefined;
}

/** By when an answer that is planned now has to have ended, in steady epoch milliseconds. */
export function deadlineOf(
  { requestTimeoutMs }: Model,
  services: Pick<Services, 'requestTimeoutMs' | 'steadyNow'>,
): number {
  return services.steadyNow() + (requestTimeoutMs ?? services.requestTimeoutMs);
}

/** Who gets an answer. */
export interface AnswerSink {
  /** Events of one choice, in order. */
  onEvents(choice: number, events: GenerationEvent[]): void;
  /**
   * Whether the client has been shown anything of this choice, apart from its start. If not, a second start may begin
   * the choice anew. Absent if the answer is a single body.
   */
  hasShown?(choice: number): boolean;
  /** Gets what `onEvents` has thrown, which is a defect of a codec, and ends the answer. */
  onDefect(error: unknown): void;
  /**
   * A choice ends with the last of these events. What it returns is called once the answer is settled, and then nobody
   * else hears of them. Absent, or returning nothing: they are events like all others.
   */
  onEnd?(choice: number, events: readonly GenerationEvent[]): (() => void) | undefined;
  /** Creates an encoder like the one that writes the stream; absent if the answer is a single body. */
  createEncoder?(): StreamEncoder;
}

/** An answer that is wanted until it has ended or is cancelled. */
export interface RunningAnswer {
  /** Begins it. Throws or rejects with the refusal, or with `unavailable`. */
  begin(): Promise<void>;
  /** Stops everything and settles for what was delivered. Does nothing after the end. */
  cancel(): void;
  pause(): void;
  resume(): void;
}
