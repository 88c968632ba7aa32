import { Collector, type Generation, isTerminal, SluiceError } from '@sluice/canonical';
import type { ResponseWriter } from '@sluice/http';
import { type Exchange, noteError } from '../exchange.ts';
import type { Services } from '../services.ts';
import type { AnswerPlan } from './answer-plan.ts';
import { createAnswer } from './fallback-answer.ts';

/**
 * Collects the whole answers of a request, one per choice. Rejects with a refusal, with the error of the generation, or
 * with `cancelled` if the client left.
 */
export function singleAnswer(
  plan: AnswerPlan,
  exchange: Exchange,
  response: ResponseWriter,
  services: Services,
): Promise<Generation[]> {
  return new Promise((resolve, reject) => {
    let open = plan.call.choices;
    const collectors: Collector[] = [];
    for (let choice = 0; choice < open; choice += 1) collectors.push(new Collector());
    const answer = createAnswer(plan, exchange, services, {
      onEvents: (choice, events) => {
        for (const event of events) {
          if (event.type === 'start') collectors[choice] = new Collector();
          collectors[choice]?.push(event);
          if (!isTerminal(event)) continue;
          open -= 1;
          if (event.type !== 'error' && open > 0) continue;
          settle(event.type === 'error' ? choice : undefined);
          return;
        }
      },
      onDefect: reject,
    });
    const settle = (failed: number | undefined): void => {
      try {
        // The collector of a failed choice throws its error.
        if (failed !== undefined) collectors[failed]?.generation();
        resolve(collectors.map((collector) => collector.generation()));
      } catch (error) {
        reject(error);
      }
    };
    // This listener must run before that of the exchange, which logs the outcome.
    response.prependListener('close', () => {
      if (response.writableFinished) return;
      // A client that was dropped because it read nothing has not left by itself.
      if (exchange.outcome !== 'cut') noteError(exchange, { kind: 'cancelled' });
      answer.cancel();
      reject(new SluiceError('cancelled', 'the client left'));
    });
    answer.begin().catch(reject);
  });
}
