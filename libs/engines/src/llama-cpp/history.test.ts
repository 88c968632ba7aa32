import type { AssistantPart, Message, ToolResultPart } from '@sluice/canonical';
import { expect, it } from 'vitest';
import { askFor } from '../test-runs.ts';
import { writeDelivered, writeHistory } from './history.ts';

const text = (said: string) => ({ type: 'text' as const, text: said });
const user = (...said: string[]): Message => ({ role: 'user', content: said.map(text) });
const assistant = (...content: AssistantPart[]): Message => ({ role: 'assistant', content });
const call = (id: string, args: string): AssistantPart => ({
  type: 'tool-call',
  id,
  name: `tool_${id}`,
  arguments: args,
});
const result = (toolCallId: string, said: string, rest: Partial<ToolResultPart> = {}): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, content: [text(said)], ...rest }],
});
const historyOf = (...messages: Message[]) => writeHistory({ ...askFor(''), messages }, true);

it('keeps the turns of a conversation, and their order', () => {
  const { items } = historyOf(
    { role: 'system', content: [text('Be brief.')] },
    user('Hello'),
    assistant({ type: 'reasoning', text: 'A greeting.' }, text('Hello!'), text('')),
    user('One', 'Two'),
  );
  expect(items).toEqual([
    { type: 'system', text: 'Be brief.' },
    { type: 'user', text: 'Hello' },
    {
      type: 'model',
      response: [{ type: 'segment', segmentType: 'thought', text: 'A greeting.', ended: true }, 'Hello!'],
    },
    { type: 'user', text: 'One\nTwo' },
  ]);
});

it('leaves thoughts out if chats have no marks for them', () => {
  const messages = [user('Hello'), assistant({ type: 'reasoning', text: 'A greeting.' }, text('Hello!'))];
  const { items } = writeHistory({ ...askFor(''), messages }, false);
  expect(items.at(-1)).toEqual({ type: 'model', response: ['Hello!'] });
});

it('joins adjacent turns of one side', () => {
  const { items } = historyOf(user('One'), user('Two'), assistant(text('a')), assistant(text('b')));
  expect(items).toEqual([
    { type: 'user', text: 'One\n\nTwo' },
    { type: 'model', response: ['a', 'b'] },
  ]);
});

it('has no place for instructions that say nothing', () => {
  const { items } = historyOf(user('One'), { role: 'system', content: [] }, user('Two'));
  expect(items).toEqual([{ type: 'user', text: 'One\n\nTwo' }]);
});

it('puts each result beside its call, whatever their order', () => {
  const { items } = historyOf(
    user('Go'),
    assistant(text('Look:'), call('a', '{"x":1}'), call('b', ''), call('c', '{"broken')),
    result('b', 'no such file', { isError: true }),
    result('a', 'one'),
    assistant(text('Done.')),
  );
  expect(items[1]).toEqual({
    type: 'model',
    response: [
      'Look:',
      { type: 'functionCall', name: 'tool_a', params: { x: 1 }, result: 'one', startsNewChunk: true },
      { type: 'functionCall', name: 'tool_b', params: {}, result: { error: 'no such file' } },
      { type: 'functionCall', name: 'tool_c', params: '{"broken', result: '' },
      'Done.',
    ],
  });
});

it('tells calls of one step from those of the next', () => {
  const { items } = historyOf(
    user('Go'),
    assistant(call('a', '{}'), call('b', '{}')),
    result('a', 'one'),
    result('b', 'two'),
    assistant(text('Hm.'), call('c', '{}')),
    result('c', 'three'),
    assistant(call('d', '{}')),
  );
  const called = (name: string, more: object) => ({
    ...{ type: 'functionCall', name: `tool_${name}`, params: {} },
    ...more,
  });
  expect(items[1]).toEqual({
    type: 'model',
    response: [
      called('a', { result: 'one', startsNewChunk: true }),
      called('b', { result: 'two' }),
      'Hm.',
      called('c', { result: 'three', startsNewChunk: true }),
      called('d', { result: '', startsNewChunk: true }),
    ],
  });
});

it('gives each of several calls of one id its own result', () => {
  const { items } = historyOf(
    user('Go'),
    assistant(call('a', '{"x":1}')),
    result('a', 'one'),
    user('Next'),
    assistant(call('a', '{"x":2}')),
    result('a', 'two'),
  );
  const results = items.flatMap((item) => (item.type === 'model' ? item.response : []));
  expect(results).toMatchObject([
    { params: { x: 1 }, result: 'one' },
    { params: { x: 2 }, result: 'two' },
  ]);
});

it('keeps a result that has no call', () => {
  expect(historyOf(user('Go'), result('gone', 'forty-two')).items).toEqual([
    { type: 'user', text: 'Go\n\nforty-two' },
  ]);
  const { items } = historyOf(user('Go'), assistant(call('a', '')), result('a', 'one'), result('a', 'two'));
  expect(items).toMatchObject([{}, { response: [{ result: 'one' }] }, { type: 'user', text: 'two' }]);
});

it('names the format of each part that it leaves out', () => {
  const opaque = (format: string) => ({ type: 'opaque' as const, format, value: {} });
  const { items, dropped } = historyOf(
    { role: 'user', content: [text('Go'), opaque('gemini')] },
    assistant(opaque('anthropic'), text('Gone')),
  );
  expect(dropped).toEqual(['gemini', 'anthropic']);
  expect(items).toEqual([
    { type: 'user', text: 'Go' },
    { type: 'model', response: ['Gone'] },
  ]);
});

it('refuses anything but text, wherever it is', () => {
  const picture = {
    type: 'media' as const,
    mediaType: 'image/png',
    source: { type: 'file-id' as const, id: 'f' },
  };
  const places: Message[] = [
    { role: 'user', content: [picture] },
    assistant(picture),
    result('a', '', { content: [picture] }),
  ];
  for (const message of places) expect(() => historyOf(message)).toThrow('text only');
});

it('leaves open the thought in which an answer was lost', () => {
  const thought = (said: string): AssistantPart => ({ type: 'reasoning', text: said });
  expect(writeDelivered([thought('Hm')])).toMatchObject({ response: [{ text: 'Hm', ended: false }] });
  expect(writeDelivered([thought('Hm'), text('So')])).toMatchObject({ response: [{ ended: true }, 'So'] });
});
