import { extensionsOf, type Json, type JsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { openai } from '../index.ts';

const context = { id: 'a', createdAt: 0, model: 'm' };

function verdictsOf(...chunks: JsonObject[]): Json | undefined {
  const decoder = openai.client.createStreamDecoder(context);
  for (const choice of chunks) decoder.push({ data: JSON.stringify({ id: 'x', choices: [choice] }) });
  const [finish] = decoder.push({ data: '[DONE]' });
  if (finish?.type !== 'finish') throw new Error('no finish');
  const choice = extensionsOf(finish, 'openai')?.choice;
  return Object(choice).content_filter_results;
}

const said = (content: string, verdicts: JsonObject) => ({
  index: 0,
  delta: { content },
  content_filter_results: verdicts,
});
const end = (verdicts: JsonObject, finish_reason = 'stop') => ({
  index: 0,
  delta: {},
  finish_reason,
  content_filter_results: verdicts,
});
const safe = { filtered: false, severity: 'safe' };
const low = { filtered: false, severity: 'low' };
const high = { filtered: true, severity: 'high' };
const copied = { filtered: false, detected: true };
const original = { filtered: false, detected: false };

test('what a filter found in an answer outlives the last chunk, in which it found nothing', () => {
  expect(verdictsOf(said('Hello', { hate: safe, violence: safe }), end({}))).toEqual({
    hate: safe,
    violence: safe,
  });
});

test('the worst of all chunks is what a filter found', () => {
  const before = [1, 2, 3].map((number) => said(`${number}`, { hate: safe, code: original }));
  const found = [...before, said('4', { hate: low, code: copied }), ...before];
  expect(verdictsOf(...found, end({}))).toEqual({ hate: low, code: copied });
  expect(verdictsOf(...found, end({ hate: high }, 'content_filter'))).toEqual({ hate: high, code: copied });
});

test('a verdict of an unknown form is passed on, the latest one', () => {
  const verdicts = [1, 2].map((number) => said('Hi', { error: { code: number }, list: number }));
  expect(verdictsOf(...verdicts, end({}))).toEqual({ error: { code: 2 }, list: 2 });
});
