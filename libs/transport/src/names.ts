import type { Attempt } from './replies/frame.ts';

/**
 * The first part of every Redis name of the transport. Pool names are `[a-z0-9-]+` (the catalog checks that), so they
 * need no encoding. The names of a pool's queue have a hash tag, so that in a cluster the pools spread over the masters
 * and the scripts of each queue stay on one of them.
 */
const root = 'sluice';

/** Name of a pool's queue, as BullMQ is given it. */
export const queueName = (pool: string): string => `inference-${pool}`;
/** Prefix of all keys of a pool's queue, as BullMQ is given it. */
export const queuePrefix = (pool: string): string => `${root}:{p:${pool}}`;
/** A consumer that waits for jobs also waits for this key of its own, so that it alone can be woken. */
export const bellKey = (pool: string, consumer: string): string => `${root}:{p:${pool}}:bell:${consumer}`;

/** Frames from all workers to one ingress process. */
export const replyChannel = (ingress: string): string => `${root}:reply:${ingress}`;
/** Orders from all ingresses to one worker process. */
export const controlChannel = (worker: string): string => `${root}:control:${worker}`;
/** Presence of workers, to all ingresses. */
export const workersChannel = `${root}:workers`;
/** Hellos and farewells of ingresses, to all workers. */
export const ingressesChannel = `${root}:ingresses`;
/** Exists for as long as an ingress renews it. */
export const ingressKey = (ingress: string): string => `${root}:ingress:${ingress}`;
/** Never exists: a command on it only shows whether Redis takes writes. */
export const probeKey = `${root}:probe`;

/**
 * The unique id of one attempt, in the queue and towards model servers. BullMQ refuses ids that contain `:` or are
 * integers, which request ids never do.
 */
export const attemptId = ({ requestId, attempt }: Attempt): string => `${requestId}-${attempt}`;
