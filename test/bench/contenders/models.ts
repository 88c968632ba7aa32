/** The fake upstream's models that the scenarios use. */
export const models = {
  /** One token at once: the whole cost is that of the request. */
  one: 'paced-t0-n1',
  /** The first token without a timer before it, so that only the way to it is measured. */
  few: 'paced-t0-n8-g2',
  /** The same at 50 tokens/s: 32 users of `few` would send 1,600 requests/s, which is no moderate load. */
  some: 'paced-t0-n16-g20',
  /** Streams for thousands of users: 50 tokens/s each, stamped. */
  paced: 'paced-t0-n128-g20-stamp',
  /** The same in answers ten times as long, so that requests hardly count. */
  long: 'paced-t0-n1280-g20-stamp',
  /** The first token after 100 ms, when a burst of requests is over. */
  burst: 'paced-t100-n4-g20',
  /** As fast as it is read, one write per token. */
  rush: 'paced-t0-n512-g0',
  /** One token, then silence for an hour. */
  idle: 'paced-t0-n2-g3600000',
} as const;

/** How long a stream of `models.paced` lasts: users who start evenly within it never bunch. */
export const pacedLifeMs = 127 * 20;
