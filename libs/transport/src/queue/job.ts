import type { FormatId, InferenceRequest, Resume, TraceContext } from '@sluice/canonical';
import { isJsonObject, SluiceError } from '@sluice/canonical';
import { readJson } from '../read-json.ts';

/**
 * How long Redis keeps an unclaimed job past its deadline. This matters only if its ingress has died, which otherwise
 * removes the jobs that it no longer wants. All versions must use the same value, because workers compute the time left
 * from it.
 */
export const keptAfterDeadlineMs = 60_000;

/**
 * One attempt at one generation, as it waits in a pool's queue. The trace is that of the request; absent if none is
 * known, and to be read by `readTraceContext`, because older versions wrote down whatever a client sent.
 */
export interface InferenceJob extends Partial<TraceContext> {
  version: 1;
  /** Id of the generation: the request's id, with a suffix if the request asks for several answers. */
  requestId: string;
  /** Counts from 1; decided by the ingress alone. */
  attempt: number;
  /** The id of the ingress process that waits for the frames. */
  replyTo: string;
  /** Whose request it is; for the log of the worker. */
  tenant: string;
  /** Id of the configured model (the request has the name that the client used). */
  model: string;
  /** Epoch milliseconds, by the clock of the ingress. */
  enqueuedAt: number;
  /**
   * Epoch milliseconds after which the answer is worthless: by the clock of the ingress in the queue, by that of the
   * worker once it has the job.
   */
  deadlineAt: number;
  request: InferenceRequest;
  /** The format of the caller; absent in jobs of older ingresses. */
  clientFormat?: FormatId;
  /** What earlier attempts have delivered; absent if this one begins from the start. */
  resume?: Resume;
}

/**
 * Parses a stored job when it is claimed. The envelope is checked, because another version may have written it; the
 * request inside was built by one of our ingresses from validated input. Throws `internal` for anything else.
 */
export function parseJob(data: string): InferenceJob {
  const job = readJson(data);
  const fault = findFault(job);
  if (fault !== undefined) {
    const cause = new TypeError(`${fault} is not what it is in version 1`);
    throw new SluiceError('internal', 'a job of an unknown version', { cause });
  }
  // The fields of the envelope have been checked; by `version`, the writer vouches for the inner types of the request.
  return job as InferenceJob;
}

/** The first invalid field of the envelope. Checked by hand, because a schema took 0.6 µs more per job, and 1.6 KB. */
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
