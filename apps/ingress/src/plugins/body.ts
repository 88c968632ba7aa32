import type { SluiceError } from '@sluice/canonical';
import type { FastifyInstance } from 'fastify';
import { readBody } from '../body/read-body.ts';
import type { PromptRoom } from '../guards/prompt-room.ts';
import { exchangeOf } from './observe.ts';

/**
 * Reads bodies as JSON. A missing content type counts as JSON, and charset parameters are fine; any other type is
 * refused. Bodies beyond the limits of nesting, values or fields are refused before they are parsed.
 */
export function registerBody(app: FastifyInstance, promptRoom: PromptRoom): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (http, body, done) => {
    try {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
      done(null, readBody(exchangeOf(http), http.headers['content-type'], bytes, promptRoom));
    } catch (error) {
      done(error as SluiceError);
    }
  });
}
