import type { Attempt } from './replies/frame.ts';

/**
 * Every Redis name of the transport. Pool names are `[a-z0-9-]+` (the catalog checks it), so they need no
 * encoding. A pool's queue carries a hash tag, so that in a cluster the pools spread over the masters and
 * each queue's scripts stay on one of them.
 */
const root = 'sluice';

export const queueName = (pool: string): string => `inference-${pool}`;
export const queuePrefix = (pool: string): string => `${root}:{p:${pool}}`;
/** A worker that waits for jobs waits for this, too, so that it can be woken alone. */
export const bellKey = (pool: string, consumer: string): string => `${root}:{p:${pool}}:bell:${consumer}`;

/** Frames from all workers to one ingress process. */
export const replyChannel = (ingress: string): string => `${root}:reply:${ingress}`;
/** Orders from all ingresses to one worker process. */
export const controlChannel = (worker: string): string => `${root}:control:${worker}`;
/** Presence of workers, to all ingresses. */
export const workersChannel = `${root}:workers`;
/** An ingress that starts asks here who is there; all workers listen. */
export const ingressesChannel = `${root}:ingresses`;
/** Lives as long as an ingress renews it. */
export const ingressKey = (ingress: string): string => `${root}:ingress:${ingress}`;
/** Never there: commands about it tell only whether Redis takes writes. */
export const probeKey = `${root}:probe`;

/**
 * One attempt and no other, as the queue names it and a server that is asked. Request ids hold neither `:` nor are they
 * integers, which BullMQ refuses.
 */
export const attemptId = ({ requestId, attempt }: Attempt): string => `${requestId}-${attempt}`;
