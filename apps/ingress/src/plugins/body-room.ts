import { SluiceError } from '@sluice/canonical';
import type { FastifyInstance } from 'fastify';

/** What refuses when this process has no memory for more of bodies that arrive. */
export const bodyRefusal = 'bodies';
/** How many of the largest bodies a process holds of those that are not whole yet. */
const largestBodies = 4;

/**
 * Memory for bodies. A tenant may take as much of it as it leaves for all others, so that
 * none can take what somebody else needs, however many requests it begins.
 */
export class BodyRoom {
  private readonly bytes: number;
  private readonly held = new Map<string, number>();
  private heldByAll = 0;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** False where the tenant would hold more than is left then; nothing is taken. */
  take(tenant: string, bytes: number): boolean {
    const held = (this.held.get(tenant) ?? 0) + bytes;
    const heldByAll = this.heldByAll + bytes;
    if (held > this.bytes - heldByAll) return false;
    this.held.set(tenant, held);
    this.heldByAll = heldByAll;
    return true;
  }

  give(tenant: string, bytes: number): void {
    const held = (this.held.get(tenant) ?? 0) - bytes;
    if (held > 0) this.held.set(tenant, held);
    else this.held.delete(tenant);
    this.heldByAll -= bytes;
  }
}

/** Refuses a body with 429 as soon as there is no room for what has arrived of it. */
export function registerBodyRoom(app: FastifyInstance, bodyLimitBytes: number): void {
  const room = new BodyRoom(largestBodies * bodyLimitBytes);
  app.addHook('preParsing', (http, _reply, payload, done) => {
    const tenant = http.exchange?.caller?.tenant;
    if (tenant !== undefined) {
      let held = 0;
      const onData = (piece: Buffer) => {
        if (room.take(tenant, piece.length)) held += piece.length;
        // The framework answers what goes wrong with the body that it reads.
        else payload.emit('error', noRoom());
      };
      const release = () => {
        payload.off('data', onData);
        room.give(tenant, held);
        held = 0;
      };
      payload.on('data', onData);
      for (const end of ['end', 'error', 'close']) payload.once(end, release);
    }
    done(null, payload);
  });
}

function noRoom(): SluiceError {
  return new SluiceError('saturated', 'too many large requests are being sent at once', {
    refusedBy: bodyRefusal,
    retryAfterMs: 1_000,
  });
}
