import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, it, test } from 'vitest';
import { rephrase } from '../rephrase.ts';

const said = (refusal: string, messages: Json[]) => rephrase({ messages }, refusal, false)?.messages;
const user = { role: 'user', content: 'Hi' };
const answer = (more: JsonObject) => ({ role: 'assistant', content: 'Hello.', ...more });

describe.each(['reasoning_content', 'reasoning'])('thinking under the name %s', (name) => {
  const unknown = `messages.1: property '${name}' is unsupported`;
  const missing = `Missing \`${name}\` in an assistant message`;

  it('is taken from every answer that has it, if the server does not know it', () => {
    const messages = [user, answer({ [name]: 'Hm.' }), user, answer({})];
    expect(said(unknown, messages)).toEqual([user, answer({}), user, answer({})]);
  });

  it('stays where the refusal names another field, or answers have none of it', () => {
    const other = name === 'reasoning' ? 'reasoning_content' : 'reasoning';
    const messages = [{ ...user, [name]: 'Hm.' }, answer({ [other]: 'Hm.' })];
    expect(said(unknown, messages)).toBeUndefined();
  });

  it('is added, empty, to every answer that lacks it, if the server misses it', () => {
    const messages = [user, answer({ [name]: 'Hm.' }), { ...user, content: null }, answer({})];
    expect(said(missing, messages)).toEqual([
      user,
      answer({ [name]: 'Hm.' }),
      { ...user, content: null },
      answer({ [name]: '' }),
    ]);
  });

  it('counts as missing beside a text that is null', () => {
    const silent = answer({ content: null, [name]: 'Hm.' });
    expect(said(missing, [user, silent])).toEqual([user, { ...silent, content: '' }]);
  });

  it('is not asked for again where every answer has it, or none was given', () => {
    expect(said(missing, [user, answer({ [name]: 'Hm.' })])).toBeUndefined();
    expect(said(missing, [user])).toBeUndefined();
    expect(rephrase({ messages: 'odd' }, missing, false)).toBeUndefined();
  });
});

describe('text in parts', () => {
  const refusal = 'messages.0.content: expected a string';

  it('is joined to one string', () => {
    const parts = ['a', 'b'].map((text) => ({ type: 'text', text }));
    expect(said(refusal, [{ role: 'user', content: parts }])).toEqual([{ role: 'user', content: 'a\n\nb' }]);
  });

  test.each([
    ['an image', { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }],
    ['a caption of another kind', { type: 'refusal', text: 'No.' }],
    ['a text that is none', { type: 'text', text: 1 }],
    ['a part that is none', 'text'],
  ])('stays beside %s', (_what, part) => {
    expect(said(refusal, [{ role: 'user', content: [{ type: 'text', text: 'a' }, part] }])).toBeUndefined();
  });
});

describe('an answer that says nothing', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const refusal = 'Assistant message must have either content or tool_calls, but not none.';
  const ofElement = 'Each message must have at least one content element.';
  const empty: JsonObject[] = [
    { role: 'assistant', content: '' },
    { role: 'assistant', content: null },
    { role: 'assistant' },
    { role: 'assistant', content: [] },
    { role: 'assistant', content: '', tool_calls: [] },
  ];

  test.each(empty)('is left out: %j', (silent) => {
    for (const words of [refusal, ofElement]) {
      expect(said(words, [user, silent, user])).toEqual([user, user]);
      expect(said(`${words.slice(0, 9)}…`, [user, silent, user])).toBeUndefined();
    }
  });

  test.each<JsonObject>([
    { role: 'assistant', content: 'Hello.' },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'system', content: '' },
  ])('is another than this, which stays: %j', (message) => {
    for (const words of [refusal, ofElement]) expect(said(words, [message, user])).toBeUndefined();
  });

  test.each<JsonObject>([
    { role: 'assistant', tool_calls: [call] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'assistant', content: [], tool_calls: [call] },
  ])('but calls a function gets an empty text where each message must have an element: %j', (calling) => {
    expect(said(ofElement, [user, calling])).toEqual([user, { ...calling, content: '' }]);
    expect(said(refusal, [user, calling])).toBeUndefined();
  });
});

test.each(['Only messages of role "user" can have a name.', 'only message of role user can have a name'])(
  'a result names its function no more where only users have names: %s',
  (refusal) => {
    const result = { role: 'tool', tool_call_id: 'c', content: 'done' };
    const named = { ...user, name: 'Ann' };
    expect(said(refusal, [named, { ...result, name: 'f' }])).toEqual([named, result]);
    expect(said(refusal, [named, result])).toBeUndefined();
    expect(said('the name is odd', [named, { ...result, name: 'f' }])).toBeUndefined();
  },
);
