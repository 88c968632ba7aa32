/** BullMQ's greatest priority number, which is served last. */
const last = 2 ** 21 - 1;

/**
 * The BullMQ priority of a tenant's next request, given how many places of the pool it has already. Its first
 * request stands beside everybody's first, its hundredth behind everybody's ninety-ninth; so a tenant that
 * queues a thousand doesn't delay another's one.
 */
export function fairPriority(outstanding: number): number {
  return Math.min(last, outstanding + 1);
}
