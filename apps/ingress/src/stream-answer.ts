import type { ServerResponse } from 'node:http';
import type { ServerCodec } from '@sluice/formats';
import { Answer, type AnswerPlan } from './answer.ts';
import { type Exchange, noteError } from './exchange.ts';
import { Relay } from './relay.ts';
import { replyHeaders, writeError } from './reply.ts';
import type { Services } from './services.ts';

/**
 * Answers with a stream on a response that the framework has let go of. Throws what refuses the request
 * before anything was written.
 */
export async function streamAnswer(
  plan: AnswerPlan,
  codec: ServerCodec,
  exchange: Exchange,
  response: ServerResponse,
  services: Services,
): Promise<void> {
  const relay = new Relay({
    response,
    encoder: codec.createStreamEncoder(plan.call),
    choices: plan.call.choices,
    headers: () => replyHeaders(exchange),
    keepAliveMs: services.keepAliveMs,
    stallLimitMs: services.stallLimitMs,
    now: services.monotonic,
    refuse: (error) => writeError(response, codec, error, exchange),
    onFull: () => answer.pause(),
    onDrained: () => answer.resume(),
    onStalled: () => {
      services.metrics.slowReaders.inc();
      exchange.outcome = 'cut';
    },
  });
  const answer = new Answer(
    plan,
    exchange,
    services,
    (choice, events) => relay.push(choice, events),
    (error) => {
      services.logger.error({ err: error, requestId: exchange.requestId }, 'internal error');
      noteError(exchange, 'internal');
      response.destroy();
    },
  );
  const stopTicking = services.ticker.add(() => relay.tick());
  // Before the observer's own listener, which tells the outcome.
  response.prependOnceListener('close', () => {
    stopTicking();
    relay.closed();
    if (exchange.outcome === undefined) noteError(exchange, 'cancelled');
    answer.cancel();
  });
  if (response.destroyed) return;
  await answer.begin();
}
