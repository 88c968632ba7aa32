import type { AssistantPart, JsonObject, Message } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { encodeContents } from './contents-encode.ts';

const says = (role: 'system' | 'user', text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});
const answer = (...content: AssistantPart[]): Message => ({ role: 'assistant', content });
const text = (words: string, own?: JsonObject): AssistantPart => ({
  type: 'text',
  text: words,
  ...(own && { extensions: { gemini: own } }),
});
const call: AssistantPart = { type: 'tool-call', id: 'c1', name: 'look', arguments: '{}' };

const encode = (messages: Message[], isForeign = true) =>
  encodeContents(messages, { model: 'gemini-2.5-pro', isForeign }, []);
const turns = (messages: Message[]) =>
  encode(messages).contents.map(({ role, parts }) => [role, (parts as JsonObject[]).map(({ text }) => text)]);

describe('instructions', () => {
  it('at the head are the instruction, and later ones are said by the user in their place', () => {
    const { systemInstruction, contents } = encode([
      says('system', 'a'),
      says('system', 'b'),
      says('user', 'c'),
      says('system', 'd'),
    ]);
    expect(systemInstruction).toEqual({ parts: [{ text: 'a' }, { text: 'b' }] });
    expect(contents.flatMap(({ parts }) => parts)).toEqual([{ text: 'c' }, { text: 'd' }]);
  });

  it('alone are said by the user, since there has to be a turn', () => {
    const { systemInstruction, contents } = encode([says('system', 'a'), says('system', 'b')]);
    expect(systemInstruction).toBeUndefined();
    expect(contents.every(({ role }) => role === 'user')).toBe(true);
    expect(contents.flatMap(({ parts }) => parts)).toEqual([{ text: 'a' }, { text: 'b' }]);
  });
});

describe('a conversation that the model begins', () => {
  it('has a turn of the user before a call, whatever the model says beside it', () => {
    expect(turns([answer(text('I look.'), call), says('user', 'And?')])).toEqual([
      ['user', ['…']],
      ['model', ['I look.', undefined]],
      ['user', ['And?']],
    ]);
  });

  it('stays as it is without a call, and from a client of this format', () => {
    expect(turns([answer(text('Hello.')), says('user', 'Hi.')])).toEqual([
      ['model', ['Hello.']],
      ['user', ['Hi.']],
    ]);
    expect(encode([answer(call)], false).contents.map(({ role }) => role)).toEqual(['model']);
  });
});

describe('of an empty text', () => {
  it('nothing is sent for a client of another format, unless it carries something', () => {
    const signed = text('', { thoughtSignature: 'c2lnbmVk' });
    const { contents } = encode([
      says('user', 'Hi.'),
      answer(text(''), signed, text('Yes.')),
      says('user', ''),
    ]);
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Hi.' }] },
      { role: 'model', parts: [{ text: '', thoughtSignature: 'c2lnbmVk' }, { text: 'Yes.' }] },
    ]);
  });

  it('nor of an empty thought', () => {
    const thought: AssistantPart = { type: 'reasoning', text: '' };
    expect(turns([says('user', 'Hi.'), answer(thought, text('Yes.'))])).toEqual([
      ['user', ['Hi.']],
      ['model', ['Yes.']],
    ]);
  });
});

it('what the model says in several messages is one turn, but a turn with fields of its own stays apart', () => {
  const own: Message = { role: 'assistant', content: [text('c')], extensions: { gemini: { note: 1 } } };
  const { contents } = encode([says('user', 'a'), answer(text('b')), answer(text('b')), own]);
  expect(contents).toEqual([
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ text: 'b' }, { text: 'b' }] },
    { role: 'model', parts: [{ text: 'c' }], note: 1 },
  ]);
});
