import type { FormatId, InferenceRequest, Resume } from '@sluice/canonical';
import { isJsonObject, SluiceError } from '@sluice/canonical';
import { readJson } from '../read-json.ts';

/**
 * How long Redis keeps a job past its deadline where nobody takes it: its ingress takes back what it does not want any
 * more, unless it died. The same for all versions, since a worker tells by it how far away the deadline is.
 */
export const keptAfterDeadlineMs = 60_000;

/** One attempt at one generation, as it waits in a pool's queue. */
export interface InferenceJob {
  version: 1;
  /** Id of the generation: the request's id, with a suffix where one request wants several answers. */
  requestId: string;
  /** Counts from 1; decided by the ingress alone. */
  attempt: number;
  /** The id of the ingress process that waits for the frames. */
  replyTo: string;
  tenant: string;
  /** The configured model's id (the request holds the name that the client used). */
  model: string;
  /** Epoch milliseconds, by the clock of the ingress. */
  enqueuedAt: number;
  /**
   * Epoch milliseconds after which the answer is worthless: by the clock of the ingress in the queue, by that of the
   * worker once it has the job.
   */
  deadlineAt: number;
  request: InferenceRequest;
  /** The format of the caller; absent in jobs of ingresses that did not say it. */
  clientFormat?: FormatId;
  /** What an earlier attempt had delivered; absent for a start from nothing. */
  resume?: Resume;
  /** W3C trace context; absent when the caller sent none. */
  traceparent?: string;
}

/**
 * Reads a stored job at pickup. The envelope is checked because another version may have written it; the
 * request inside was built by our own ingress from validated input. Throws `internal` for anything else.
 */
export function parseJob(data: string): InferenceJob {
  const job = readJson(data);
  const fault = findFault(job);
  if (fault !== undefined) {
    const cause = new TypeError(`${fault} is not what it is in version 1`);
    throw new SluiceError('internal', 'a job of an unknown version', { cause });
  }
  // The envelope's fields are as they were checked; the request's inner types are the writer's promise by `version`.
  return job as InferenceJob;
}

/** The first field of the envelope that is not as it must be. Checked by hand: a schema took 0.6 µs more, and 1.6 KB. */
function findFault(job: unknown): string | undefined {
  if (!isJsonObject(job)) return 'the job';
  if (job.version !== 1) return 'version';
  if (!isName(job.requestId)) return 'requestId';
  if (!Number.isSafeInteger(job.attempt) || Number(job.attempt) < 1) return 'attempt';
  if (!isName(job.replyTo)) return 'replyTo';
  if (typeof job.tenant !== 'string') return 'tenant';
  if (typeof job.model !== 'string') return 'model';
  if (!Number.isFinite(job.enqueuedAt)) return 'enqueuedAt';
  if (!Number.isFinite(job.deadlineAt)) return 'deadlineAt';
  const { request } = job;
  if (!isJsonObject(request)) return 'request';
  if (typeof request.model !== 'string') return 'request.model';
  if (!Array.isArray(request.messages)) return 'request.messages';
  return isJsonObject(request.sampling) ? undefined : 'request.sampling';
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';
