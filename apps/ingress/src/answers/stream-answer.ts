import { type ErrorInfo, SluiceError } from '@sluice/canonical';
import type { ServerCodec, StreamEncoder } from '@sluice/formats';
import { breakOff, type ResponseWriter } from '@sluice/http';
import { type Exchange, noteError } from '../exchange.ts';
import type { Services } from '../services.ts';
import type { AnswerPlan, RunningAnswer } from './answer-plan.ts';
import { createAnswer } from './fallback-answer.ts';
import { Relay, type RelayOptions } from './relay.ts';
import { replyHeaders, writeError } from './reply.ts';

/** Answers with a stream, written without fastify. Throws a refusal if nothing has been written yet, and any defect. */
export async function streamAnswer(
  plan: AnswerPlan,
  codec: ServerCodec,
  exchange: Exchange,
  response: ResponseWriter,
  services: Services,
): Promise<void> {
  await new StreamAnswer(plan, codec, exchange, response, services).begin();
}

/** Connects an answer with the relay that writes it: events one way, back-pressure the other. */
class StreamAnswer implements RelayOptions {
  readonly response: ResponseWriter;
  readonly encoder: StreamEncoder;
  readonly choices: number;
  private readonly codec: ServerCodec;
  private readonly exchange: Exchange;
  private readonly services: Services;
  private readonly relay: Relay;
  private readonly answer: RunningAnswer;

  constructor(
    plan: AnswerPlan,
    codec: ServerCodec,
    exchange: Exchange,
    response: ResponseWriter,
    services: Services,
  ) {
    this.response = response;
    this.encoder = codec.createStreamEncoder(plan.call);
    this.choices = plan.call.choices;
    this.codec = codec;
    this.exchange = exchange;
    this.services = services;
    this.relay = new Relay(this);
    this.answer = createAnswer(plan, exchange, services, {
      onEvents: (choice, events) => this.relay.push(choice, events),
      hasShown: (choice) => this.relay.hasShown(choice),
      onDefect: (error) => this.breakOff(error),
      createEncoder: () => codec.createStreamEncoder(plan.call),
    });
  }

  get keepAliveMs(): number {
    return this.services.keepAliveMs;
  }

  get stallLimitMs(): number {
    return this.services.stallLimitMs;
  }

  async begin(): Promise<void> {
    this.services.ticker.add(this.relay);
    // This listener must run before that of the exchange, which logs the outcome.
    this.response.prependListener('close', () => this.close());
    try {
      await this.answer.begin();
    } catch (error) {
      if (!this.response.headersSent || !(error instanceof SluiceError)) throw error;
      this.refuseInBand(error.info);
    }
  }

  now(): number {
    return this.services.monotonic();
  }

  headers(isAnswer: boolean): Record<string, string> {
    const headers = replyHeaders(this.exchange, this.services);
    // Yet another model may answer in the end.
    if (!isAnswer) delete headers['x-sluice-model'];
    return headers;
  }

  refuse(error: ErrorInfo): void {
    writeError(this.response, this.codec, error, this.exchange, this.services);
  }

  onFull(): void {
    this.answer.pause();
  }

  onDrained(): void {
    this.answer.resume();
  }

  onStalled(): void {
    this.services.metrics.slowReaders.inc();
    this.exchange.outcome = 'cut';
  }

  /**
   * Writes a refusal into the stream, where a keep-alive has already taken the status (admission waited for a slow
   * Redis).
   */
  private refuseInBand(error: ErrorInfo): void {
    // The request has ended already, for example by its deadline.
    if (this.exchange.outcome !== undefined) return;
    this.relay.push(0, [{ type: 'error', error }]);
    noteError(this.exchange, error);
  }

  private breakOff(error: unknown): void {
    const { services, exchange, response } = this;
    services.logger.error({ err: error, requestId: exchange.requestId }, 'internal error');
    noteError(exchange, { kind: 'internal' });
    breakOff(response);
  }

  private close(): void {
    this.services.ticker.delete(this.relay);
    this.relay.closed();
    const { outcome } = this.exchange;
    // Its last answer may be there, and its end written, while the client has not read it all.
    if (outcome === undefined || (outcome === 'ok' && !this.response.writableFinished))
      noteError(this.exchange, { kind: 'cancelled' });
    this.answer.cancel();
  }
}
