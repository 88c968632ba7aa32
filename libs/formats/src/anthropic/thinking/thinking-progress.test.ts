import { collect, findGrammarError, type GenerationEvent, type JsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { serverCodecs } from '../../registry.ts';
import { anthropic } from '../index.ts';

const usage = { input_tokens: 1, output_tokens: 1 };
const delta = (fields: JsonObject) => ({ type: 'content_block_delta', index: 0, delta: fields });
const progress = (estimated: number) =>
  delta({ type: 'thinking_delta', thinking: '', estimated_tokens: estimated });
/** As Claude streams thinking that is not shown, with the beta of counts. */
const stream: JsonObject[] = [
  { type: 'message_start', message: { content: [], usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  progress(50),
  progress(100),
  delta({ type: 'thinking_delta', thinking: '', estimated_tokens: null }),
  delta({ type: 'signature_delta', signature: 'signed' }),
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
  { type: 'message_stop' },
];

function decoded(): GenerationEvent[] {
  const decoder = anthropic.client.createStreamDecoder({ id: 'm', model: 'm', createdAt: 1 });
  const events = stream.flatMap((event) =>
    decoder.push({ event: String(event.type), data: JSON.stringify(event) }),
  );
  return [...events, ...decoder.end()];
}

function encoded(format: string): string {
  const server = serverCodecs.find((codec) => codec.format === format);
  const call = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: { hidesThinking: true } };
  const encoder = server?.createStreamEncoder(call);
  return decoded()
    .map((event) => encoder?.push(event, 0))
    .join('');
}

test('the progress of hidden thinking reaches a client of messages, in its block', () => {
  expect(findGrammarError(decoded())).toBeUndefined();
  const lines = encoded('anthropic')
    .split('\n')
    .filter((line) => line.includes('"index":0'));
  expect(lines.map((line) => JSON.parse(line.slice('data: '.length)))).toEqual([
    stream[1],
    progress(50),
    progress(100),
    delta({ type: 'signature_delta', signature: 'signed' }),
    { type: 'content_block_stop', index: 0 },
  ]);
});

test('it leaves no trace for clients of other formats, nor in a single answer', () => {
  for (const format of ['openai', 'gemini']) expect(encoded(format)).not.toContain('estimated_tokens');
  expect(collect(decoded()).content).toEqual([
    { type: 'reasoning', text: '', extensions: { anthropic: { signature: 'signed' } } },
    { type: 'text', text: 'Hi' },
  ]);
});
