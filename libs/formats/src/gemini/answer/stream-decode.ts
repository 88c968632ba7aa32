import type { GenerationEvent } from '@sluice/canonical';
import type { GenerationContext, StreamDecoder, StreamMessage } from '../../codec.ts';
import { parseObject } from '../../json/json-object.ts';
import { AnswerDecoder } from './answer-decode.ts';

/** Decodes a server's stream. */
export function createStreamDecoder(context: GenerationContext): StreamDecoder {
  const answer = new AnswerDecoder(context);
  return {
    push: ({ data }: StreamMessage) => {
      const text = data.trim();
      // A gateway's keep-alive may be all that came of an event. Imitations end with another dialect's marker.
      if (text === '' || text === '[DONE]') return [];
      const chunk = parseObject(text);
      return chunk === undefined ? answer.fail('notJson') : answer.push(chunk);
    },
    end: () => answer.end(),
  };
}

/** Decodes a single body. An array is a stream that was not framed as events. */
export function decodeResponse(body: unknown, context: GenerationContext): GenerationEvent[] {
  const answer = new AnswerDecoder(context);
  const chunks: unknown[] = Array.isArray(body) ? body : [body];
  return [...chunks.flatMap((chunk) => answer.push(chunk)), ...answer.end()];
}
