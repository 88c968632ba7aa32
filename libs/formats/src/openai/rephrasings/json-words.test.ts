import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { jsonInstruction } from '../../json-instruction.ts';
import { withJsonWords } from './json-words.ts';

const user = { role: 'user', content: 'Hi' };
const object = { type: 'json_object' };
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const bySchema = { type: 'json_schema', json_schema: { name: 'a', schema } };

const words = (content: string): JsonObject => ({ role: 'system', content });
const asked = (format: JsonObject, refusal: string, messages: readonly Json[] = [user]) =>
  withJsonWords({ response_format: format, messages: [...messages] }, refusal);

describe('a server that wants JSON to be asked for in words, too', () => {
  const refusal = "'messages' must contain the word 'json' in some form, to use 'response_format'";

  it('is told so after the instructions that there are', () => {
    const system = words('Be brief.');
    expect(asked(object, refusal, [system, user])).toEqual({
      response_format: object,
      messages: [system, words(jsonInstruction(undefined)), user],
    });
    expect(asked(object, refusal, [system])).toEqual({
      response_format: object,
      messages: [system, words(jsonInstruction(undefined))],
    });
  });

  it.each<[string, Json]>([
    ['a message without a text', { role: 'assistant', content: null }],
    ['a message in parts', { role: 'user', content: [{ type: 'text', text: jsonInstruction(undefined) }] }],
    ['what is no message', null],
  ])('is told so beside %s', (_what, message) => {
    expect(asked(object, refusal, [message])?.messages).toContainEqual(words(jsonInstruction(undefined)));
  });

  it('is not told twice, nor what nobody asked for', () => {
    expect(asked(object, refusal, [words(`${jsonInstruction(undefined)} In French.`), user])).toBeUndefined();
    expect(asked({ type: 'text' }, refusal)).toBeUndefined();
  });
});

describe('a server that knows no JSON while its model thinks', () => {
  const refusal = 'Json mode response is not supported when enable_thinking is true';

  it('is asked in words alone, with the schema if there is one', () => {
    expect(asked(object, refusal)).toEqual({ messages: [words(jsonInstruction(undefined)), user] });
    expect(asked(bySchema, refusal)).toEqual({ messages: [words(jsonInstruction(schema)), user] });
  });

  it('keeps the words that are there for an object, and gets the schema even if the user has such words', () => {
    const said = { role: 'user', content: jsonInstruction(undefined) };
    expect(asked(object, refusal, [said])).toEqual({ messages: [said] });
    expect(asked(bySchema, refusal, [said])).toEqual({ messages: [words(jsonInstruction(schema)), said] });
  });

  it('is not asked for what nobody asked for', () => {
    expect(asked({ type: 'text' }, refusal)).toBeUndefined();
  });
});

describe('a format without a schema', () => {
  it.each([
    ['is unavailable', "This response_format type is unavailable now: 'json_schema'"],
    [
      'must be an object',
      "Invalid schema for response_format 'a': must be a JSON Schema of 'type: \"object\"'",
    ],
  ])('is asked for as any object where the schema %s', (_why, refusal) => {
    expect(asked({ type: 'json_schema' }, refusal)).toEqual({
      response_format: object,
      messages: [words(jsonInstruction(undefined)), user],
    });
  });
});

describe('a refusal of a format beside functions', () => {
  const refusal = 'response_format json_schema is not supported together with tool calls';

  it.each([refusal, 'response_format json_schema is not supported with any tool'])(
    'is about the format only where there are functions: %s',
    (text) => {
      const body = { response_format: bySchema, messages: [user] };
      expect(withJsonWords(body, text)).toBeUndefined();
      expect(withJsonWords({ ...body, tools: [] }, text)?.response_format).toEqual(object);
    },
  );

  it('is not told by a word that merely begins so', () => {
    expect(asked(bySchema, 'response_format json_schema is not supported by this toolkit')).toBeDefined();
  });
});
