import { SluiceError } from '@sluice/canonical';
import type { FastifyInstance } from 'fastify';
import { SharedRoom } from '../guards/shared-room.ts';

/** The `refusedBy` of requests that are refused because too many bodies are arriving at once. */
export const bodyRefusal = 'bodies';
/** Incomplete bodies may take the memory of this many bodies of the largest size. */
const largestBodies = 4;
/**
 * What a piece takes beside its bytes. Each chunk of a chunked body is a piece: a body of 5 MB in chunks of one byte took
 * 2.1 GB when only its bytes were counted.
 */
const bytesPerPiece = 512;

/**
 * Refuses a body with 429 as soon as there is no room for the next piece of it. What comes behind an answer takes no
 * room, since it is thrown away.
 */
export function registerBodyRoom(app: FastifyInstance, bodyLimitBytes: number): void {
  const room = new SharedRoom(largestBodies * bodyLimitBytes);
  app.addHook('preParsing', (http, { raw: response }, payload, done) => {
    const tenant = http.exchange?.caller?.tenant;
    if (tenant !== undefined) {
      let held = 0;
      const onData = (piece: Buffer) => {
        const bytes = piece.length + bytesPerPiece;
        if (room.take(tenant, bytes)) held += bytes;
        // Fastify answers with the error of the stream that it reads the body from.
        else payload.emit('error', noRoom());
      };
      const release = () => {
        payload.off('data', onData);
        response.off('close', release);
        room.give(tenant, held);
        held = 0;
      };
      payload.on('data', onData);
      for (const end of ['end', 'error']) payload.once(end, release);
      // Node tells a request that was answered before it came whole of no end, whatever becomes of its connection. That
      // goes for who leaves in the middle, too, who is answered with 400. Only its response is always closed.
      response.once('close', release);
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
