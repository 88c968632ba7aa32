import { expect, test } from 'vitest';
import { formats } from '../registry.ts';
import {
  isOutOfMoney,
  largestLimit,
  readSentence,
  saysFlaggedContent,
  saysLimitReached,
  saysLimitTooLarge,
  saysRefusedFeature,
  saysRefusedKey,
  saysRefusedMedia,
  saysRefusedPlace,
  saysTooLong,
  saysTooStrict,
} from './upstream-words.ts';

test.each<[message: string, most: number | undefined]>([
  ['max_tokens is too large: 99999. This model supports at most 4096 completion tokens', 4096],
  ['max_completion_tokens: 70,000 above maximum value. Expected a value <= 65,536', 65_536],
  ['`max_tokens` must be less than or equal to `8192`, the maximum value', 8192],
  ["'max_tokens' or 'max_completion_tokens' cannot be greater than 512, at most 512", 512],
  ['Range of max_tokens should be [1, 32768]', 32_768],
  ['Range of max_completion_tokens is [1, 8192]', 8192],
  ['max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for this model', 64_000],
  [
    'Unable to submit: maxOutputTokens value of 70000 but the supported range is from 1 (inclusive) to 65537 (exclusive)',
    65_536,
  ],
  ['maxOutputTokens value of 7 but the supported range is from 1 (inclusive) to 1 (exclusive)', undefined],
  ['max_tokens is too large, at most 0', undefined],
  ['max_tokens is too large', undefined],
])('an output limit is refused, and the largest that is allowed may be told: %s', (message, most) => {
  expect(saysLimitTooLarge(message)).toBe(true);
  expect(largestLimit(message)).toBe(most);
});

test('a refusal of something else tells no limit', () => {
  expect(largestLimit('n must be at most 4096')).toBeUndefined();
  expect(saysLimitTooLarge('n must be at most 4096')).toBe(false);
});

test.each<[(message: string) => boolean, string[]]>([
  [
    saysLimitReached,
    ['Could not finish the message because max_tokens or model output limit was reached. Please try again.'],
  ],
  [
    saysTooStrict,
    [
      'tools.0.custom: too many fields',
      'tools.12.custom: too many fields',
      'Too many strict tools',
      'The compiled grammar is too large',
      'Schema is too complex',
      'Schemas contains too many parameters',
      'The schemas contain too many parameters',
      "Invalid schema for function 'f'",
    ],
  ],
  [
    saysRefusedKey,
    ['Incorrect API key provided', 'API key not valid.', 'api key is expired', 'No valid API key'],
  ],
  [saysRefusedPlace, ['User location is not supported for the API use.']],
  [saysFlaggedContent, ['Your input was flagged', 'Content violates usage guidelines.']],
  [
    saysRefusedMedia,
    ['image input is not supported', 'Multimodal is not supported', "Only 'text' content type is supported"],
  ],
  [
    saysRefusedFeature,
    [
      'No endpoints found that support tool use',
      'no endpoints found that can handle it',
      'Function calling is not supported',
    ],
  ],
  [saysTooLong, ['prompt is too long: 9 tokens > 8 maximum', 'Input token count (9) exceeds the maximum']],
])('%o recognizes what it is about, and nothing else', (says, messages) => {
  for (const message of messages) expect([message, says(message)]).toEqual([message, true]);
  expect(says('The temperature is too high.')).toBe(false);
});

test.each(['invalid-request', 'rate-limited', 'upstream-failed'] as const)(
  'an empty account may hide behind %s',
  (kind) => {
    for (const message of [
      'Your credit balance is too low',
      'Insufficient Balance',
      '账户余额不足',
      '您的账户已欠费',
    ])
      expect(isOutOfMoney(kind, message)).toBe(true);
    expect(isOutOfMoney(kind, 'The balance is fine')).toBe(false);
    expect(isOutOfMoney('not-found', 'Insufficient Balance')).toBe(false);
  },
);

test.each<[value: unknown, sentence: string | undefined]>([
  ['No.', 'No.'],
  [
    [{ msg: 'Too long', loc: ['body', 'messages', 0, 'content'], input: 'secret' }],
    'messages.0.content: Too long',
  ],
  [{ msg: 'Too long', loc: ['body'] }, 'Too long'],
  [{ msg: 'Too long', loc: 'body' }, 'Too long'],
  [{ detail: [{ msg: 'Too long' }] }, 'Too long'],
  [{ message: { detail: 'No.' } }, 'No.'],
  [{ error: 'No.' }, undefined],
  [[], undefined],
  [7, undefined],
  [undefined, undefined],
])('the sentence of %j is %s', (value, sentence) => {
  expect(readSentence(value)).toBe(sentence);
});

test.each(formats.map(({ client }) => client))(
  'a server of $format is quoted up to 500 characters, without the half of one',
  ({ decodeError }) => {
    const said = (message: string) => decodeError(400, {}, { error: { message } }).message;
    const face = '😀';
    expect(said(face.repeat(400))).toBe(face.repeat(250));
    expect(said(`x${face.repeat(400)}`)).toBe(`x${face.repeat(249)}\ufffd`);
    expect(said(`no ${face[0]}`)).toBe('no \ufffd');
  },
);
