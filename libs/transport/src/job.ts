import type { InferenceRequest, Resume } from '@sluice/canonical';
import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';

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
  /** Epoch milliseconds. */
  enqueuedAt: number;
  /** Epoch milliseconds after which the answer is worthless. */
  deadlineAt: number;
  request: InferenceRequest;
  /** What an earlier attempt had delivered; absent for a start from nothing. */
  resume?: Resume;
  /** W3C trace context; absent when the caller sent none. */
  traceparent?: string;
}

const envelope = z.looseObject({
  version: z.literal(1),
  requestId: z.string().min(1),
  attempt: z.int().min(1),
  replyTo: z.string().min(1),
  tenant: z.string(),
  model: z.string(),
  enqueuedAt: z.number(),
  deadlineAt: z.number(),
  request: z.looseObject({ model: z.string(), messages: z.array(z.unknown()), sampling: z.looseObject({}) }),
});

/**
 * Reads a stored job at pickup. The envelope is checked because another version may have written it; the
 * request inside was built by our own ingress from validated input. Throws `internal` for anything else.
 */
export function parseJob(data: string): InferenceJob {
  const parsed = envelope.safeParse(readJson(data));
  if (!parsed.success)
    throw new SluiceError('internal', 'a job of an unknown version', { cause: parsed.error });
  // The schema names the envelope's fields; the request's inner types are the writer's promise by `version`.
  return parsed.data as unknown as InferenceJob;
}

/** Absent for what is no JSON: its text may hold a prompt, and the parser's error would repeat some of it. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
