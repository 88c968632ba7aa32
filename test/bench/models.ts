/** Behaviours of the fake upstream that the scenarios ask for, by what they are for. */
export const models = {
  /** One token at once: all cost is the request's. */
  one: 'paced-t0-n1',
  /** A first token without any timer before it, so that only the way is measured. */
  few: 'paced-t0-n8-g2',
  /** The same at 50 tokens/s: 32 users of `few` would ask for 1,600 requests/s, which is no moderate load. */
  some: 'paced-t0-n16-g20',
  /** Streams for thousands of users: 50 tokens/s each, stamped. */
  paced: 'paced-t0-n128-g20-stamp',
  /** A burst is over before the first token is said. */
  burst: 'paced-t100-n4-g20',
  /** As fast as it is read, one write per token. */
  rush: 'paced-t0-n512-g0',
  /** One token, then silence for an hour. */
  idle: 'paced-t0-n2-g3600000',
} as const;

/** How long a stream of `models.paced` lasts: users who start evenly within it never bunch. */
export const pacedLifeMs = 127 * 20;
