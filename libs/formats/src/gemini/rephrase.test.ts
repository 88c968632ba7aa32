import type { JsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { jsonInstruction } from '../json-instruction.ts';
import { gemini } from './index.ts';

const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];

/** The body for a server that refused this one with these words, for a client of another format. */
const said = (body: JsonObject, refusal: string) =>
  gemini.client.servers.rephrase?.({ contents, ...body }, refusal, true);

test('a model that knows no penalties gets none', () => {
  const refusal = 'Penalty is not enabled for models/gemini-2.5-flash';
  const generationConfig = { temperature: 1, presencePenalty: 0.5, frequencyPenalty: 0.5 };
  const next = said({ generationConfig }, refusal);
  expect(next).toEqual({ contents, generationConfig: { temperature: 1 } });
  expect(said(next ?? {}, refusal)).toBeUndefined();
});

test.each([
  'Thinking level is not supported for this model.',
  'Thinking is not enabled for models/gemini-2.0-flash-preview-image-generation',
  'Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.. Learn more: https://example.org',
  'Unable to submit request because thinking is not supported by this model.',
  `Invalid JSON payload received. Unknown name "thinkingLevel" at 'generation_config.thinking_config': Cannot find field.`,
  `Invalid JSON payload received. Unknown name "thinking_config" at 'generation_config': Cannot find field.`,
])('a model that thinks in its own way is told nothing about it: %s', (refusal) => {
  const thinkingConfig = { includeThoughts: true, thinkingLevel: 'LOW' };
  const next = said({ generationConfig: { thinkingConfig } }, refusal);
  expect(next).toEqual({ contents, generationConfig: {} });
  expect(said(next ?? {}, refusal)).toBeUndefined();
});

test.each([
  'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.',
  'Thinking level is unsupported: THINKING_LEVEL_MINIMAL',
  "'minimal' is not a supported thinking level for this model. Allowed values are: medium, low, high.",
])('a model that lacks one level gets the next, and every other as it is: %s', (refusal) => {
  const asked = (thinkingLevel: string) => ({
    generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel } },
  });
  expect(said(asked('MINIMAL'), refusal)).toEqual({ contents, ...asked('LOW') });
  expect(said(asked('HIGH'), refusal)).toBeUndefined();
  expect(said(asked('HIGH'), refusal.replace(/minimal/i, 'HIGH'))).toEqual({
    contents,
    generationConfig: {},
  });
});

test('a model that knows only one of level and budget keeps the one that it knows', () => {
  const by = (setting: JsonObject) => ({ generationConfig: { thinkingConfig: setting } });
  const noLevel = 'Thinking level is not supported for this model.';
  const noBudget = 'Thinking budget is not supported for this model.';
  expect(said(by({ thinkingBudget: 512 }), noLevel)).toBeUndefined();
  expect(said(by({ thinkingLevel: 'LOW' }), noBudget)).toBeUndefined();
});

test.each([
  [512, { thinkingLevel: 'LOW' }],
  [8192, { thinkingLevel: 'MEDIUM' }],
  [24_576, { thinkingLevel: 'HIGH' }],
  [0, { thinkingLevel: 'MINIMAL' }],
  [-1, {}],
])('a model that knows no budget gets for %i %j, and goes on showing its thoughts', (budget, level) => {
  const asked = { temperature: 1, thinkingConfig: { includeThoughts: true, thinkingBudget: budget } };
  const noBudget = 'Thinking budget is not supported for this model.';
  const next = said({ generationConfig: asked }, noBudget);
  const generationConfig = { temperature: 1, thinkingConfig: { includeThoughts: true, ...level } };
  expect(next).toEqual({ contents, generationConfig });
  expect(said(next ?? {}, noBudget)).toBeUndefined();
});

test.each([
  "Unable to submit request because Thinking can't be disabled for this model. Remove 'thinking_config'.",
  'Budget 0 is invalid. This model only works in thinking mode.',
])('a model that always thinks is not told to stop, but everything else: %s', (refusal) => {
  const none = { includeThoughts: false, thinkingBudget: 0 };
  expect(said({ generationConfig: { thinkingConfig: none } }, refusal)).toEqual({
    contents,
    generationConfig: {},
  });
  const some = { includeThoughts: true, thinkingBudget: 512 };
  expect(said({ generationConfig: { thinkingConfig: some } }, refusal)).toBeUndefined();
});

test('a model without a system instruction gets it at the head of the conversation', () => {
  const refusal = 'Developer instruction is not enabled for models/gemma-3-27b-it';
  const systemInstruction = { parts: [{ text: 'Be kind.' }] };
  const next = said({ systemInstruction }, refusal);
  expect(next).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Be kind.' }, { text: 'Hi' }] }] });
  expect(said(next ?? {}, refusal)).toBeUndefined();
  const greeting = { role: 'model', parts: [{ text: 'Hello' }] };
  expect(said({ systemInstruction, contents: [greeting, ...contents] }, refusal)).toEqual({
    contents: [{ role: 'user', ...systemInstruction }, greeting, ...contents],
  });
});

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const json = { responseMimeType: 'application/json', responseJsonSchema: schema };
const words = { text: expect.stringContaining(JSON.stringify(schema)) };

test.each([
  'JSON mode is not enabled for models/gemma-3-27b-it',
  `Invalid JSON payload received. Unknown name "responseJsonSchema" at 'generation_config': Cannot find field.`,
  `Invalid JSON payload received. Unknown name "response_json_schema" at 'generation_config': Cannot find field.`,
])('a server without the setting for JSON is asked for it in words: %s', (refusal) => {
  const next = said({ generationConfig: { ...json, temperature: 1 } }, refusal);
  expect(next).toEqual({
    contents,
    generationConfig: { temperature: 1 },
    systemInstruction: { parts: [words] },
  });
  expect(said(next ?? {}, refusal)).toBeUndefined();
  const systemInstruction = { parts: [{ text: 'Be kind.' }] };
  expect(said({ generationConfig: json, systemInstruction }, refusal)?.systemInstruction).toEqual({
    parts: [{ text: 'Be kind.' }, words],
  });
});

test('the words for JSON are those of every format, and speak of tools only if there are some', () => {
  const refusal = 'JSON mode is not enabled for models/gemma-3-27b-it';
  const asked = (fields: JsonObject) => {
    const generationConfig = { responseMimeType: 'application/json' };
    return said({ generationConfig, ...fields }, refusal)?.systemInstruction;
  };
  const wish = jsonInstruction(undefined);
  expect(asked({})).toEqual({ parts: [{ text: wish }] });
  const tools = [{ functionDeclarations: [{ name: 'f' }] }];
  expect(asked({ tools })).toEqual({ parts: [{ text: `Once no tool has to be called: ${wish}` }] });
});

test('a model that takes no JSON beside tools is asked for it in words only if there are tools', () => {
  const refusal = "Function calling with a response mime type: 'application/json' is unsupported";
  const tools = [{ functionDeclarations: [{ name: 'f' }] }];
  expect(said({ generationConfig: json, tools }, refusal)).toEqual({
    ...{ contents, tools, generationConfig: {} },
    systemInstruction: { parts: [words] },
  });
  expect(said({ generationConfig: json }, refusal)).toBeUndefined();
});

test('any other refusal stands, and so does every one of a client of this format', () => {
  const body = { contents, generationConfig: { presencePenalty: 1, thinkingConfig: { thinkingBudget: 1 } } };
  expect(said(body, 'Request contains an invalid argument.')).toBeUndefined();
  const refusal = 'Penalty is not enabled for models/gemini-2.5-flash';
  expect(gemini.client.servers.rephrase?.(body, refusal, false)).toBeUndefined();
});

test.each([
  'Corrupted thought signature.',
  'Invalid thought signature.',
  'Unable to submit request because Thought signature is not valid.',
])('a model that refuses the signatures of another gets Google’s own, or else none: %s', (refusal) => {
  const amended = (body: JsonObject) => gemini.client.servers.amend?.(body, refusal);
  const call = { functionCall: { name: 'f', args: {} } };
  const step = (call: JsonObject, text: JsonObject) => ({
    contents: [...contents, { role: 'model', parts: [call, text] }],
  });
  const signed = step({ ...call, thoughtSignature: 's' }, { text: 'Well', thoughtSignature: 't' });
  const skipped = step({ ...call, thoughtSignature: 'skip_thought_signature_validator' }, { text: 'Well' });
  const bare = step(call, { text: 'Well' });
  expect(amended(signed)).toEqual(skipped);
  expect(amended(skipped)).toEqual(bare);
  expect(amended(bare)).toBeUndefined();
  expect(gemini.client.servers.amend?.(signed, 'Request contains an invalid argument.')).toBeUndefined();
});

test.each([
  `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`,
  `Invalid JSON payload received. Unknown name \\"id\\" at 'contents[2].parts[0].function_response': Cannot find field.`,
  'Invalid JSON payload received. Unknown name "id" at contents[0].parts[0].functionCall: Cannot find field.',
])('a server that knows no ids of calls gets none, whoever asks: %s', (refusal) => {
  const talk = (id: JsonObject) => ({
    contents: [
      ...contents,
      {
        role: 'model',
        parts: [{ text: 'Well' }, { functionCall: { ...id, name: 'f', args: {} }, thoughtSignature: 's' }],
      },
      { role: 'user', parts: [{ functionResponse: { ...id, name: 'f', response: { id: 1 } } }] },
    ],
  });
  const { rephrase } = gemini.client.servers;
  for (const isForeign of [true, false]) {
    expect(rephrase?.(talk({ id: 'c' }), refusal, isForeign)).toEqual(talk({}));
    expect(rephrase?.(talk({}), refusal, isForeign)).toBeUndefined();
  }
  expect(rephrase?.({ contents: 'odd' }, refusal, false)).toBeUndefined();
});
