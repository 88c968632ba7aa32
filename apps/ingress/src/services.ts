import type { Admission } from '@sluice/admission';
import type { Catalog } from '@sluice/catalog';
import type { IngressMetrics, Logger, Readiness, Tracing } from '@sluice/runtime';
import type { KeyStore } from '@sluice/tenancy';
import type { JobQueue, WorkerDirectory } from '@sluice/transport';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Overload } from './guards/overload.ts';
import type { PromptPassage } from './guards/prompt-passage.ts';
import type { PromptRoom } from './guards/prompt-room.ts';
import type { Ticker } from './ticker.ts';

/** Everything that the routes of an ingress work with. */
export interface Services {
  keys: KeyStore;
  catalog: Catalog;
  admission: Admission;
  overload: Pick<Overload, 'check'>;
  promptRoom: PromptRoom;
  promptPassage: PromptPassage;
  queue: Pick<JobQueue, 'enqueue'>;
  directory: WorkerDirectory;
  dispatcher: Dispatcher;
  ticker: Ticker;
  metrics: IngressMetrics;
  logger: Logger;
  /** Absent if no collector of traces is set. */
  tracing?: Tracing | undefined;
  /** Id of this process. */
  ingress: string;
  /** Silence after which a stream is opened, or sent a keep-alive. */
  keepAliveMs: number;
  /** Deadline of a request whose model sets none. */
  requestTimeoutMs: number;
  /** How long a client may read nothing while data waits for it, before it is dropped. */
  stallLimitMs: number;
  bodyLimitBytes: number;
  /** Epoch milliseconds of the host's clock, by which clients and Redis are told of instants. */
  now(): number;
  /** Epoch milliseconds that no step of the host's clock moves, for deadlines. */
  steadyNow(): number;
  /** Monotonic milliseconds. */
  monotonic(): number;
  newRequestId(): string;
  isReady(): Readiness;
}
