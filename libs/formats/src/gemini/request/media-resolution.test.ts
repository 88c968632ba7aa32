import type { JsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { gemini } from '../index.ts';

const picture = (level?: string | number): JsonObject => ({
  inlineData: { mimeType: 'image/png', data: 'AA==' },
  ...(level !== undefined && { mediaResolution: { level } }),
});

function detailsOf(parts: JsonObject[], mediaResolution?: string | number) {
  const { request } = gemini.server.decodeRequest({
    ...{ path: '/v1beta/models/m:generateContent', headers: {}, query: {}, requestId: 'r' },
    body: {
      contents: [{ parts }],
      ...(mediaResolution !== undefined && { generationConfig: { mediaResolution } }),
    },
  });
  return request.messages
    .flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool-result' ? part.content : [part])),
    )
    .flatMap((part) => (part.type === 'media' ? [part.detail] : []));
}

const [low, medium, unsaid] = ['LOW', 'MEDIUM', 'UNSPECIFIED'].map((word) => `MEDIA_RESOLUTION_${word}`);

test('media are of low detail by their own resolution, by word or number', () => {
  expect(detailsOf([picture(low), picture(1), picture(medium), picture()])).toEqual([
    ...['low', 'low', undefined, undefined],
  ]);
});

test('the resolution of the request is that of media which have none', () => {
  expect(detailsOf([picture(), picture(medium), picture(unsaid)], low)).toEqual(['low', undefined, 'low']);
  expect(detailsOf([picture(low), picture()], medium)).toEqual(['low', undefined]);
  expect(detailsOf([{ text: 'Hi' }, picture()], 1)).toEqual(['low']);
});

test('media in the result of a call are no exception', () => {
  const result = {
    functionResponse: { name: 'f', response: { output: '' }, parts: [picture(), picture(medium)] },
  };
  expect(detailsOf([result], low)).toEqual(['low', undefined]);
});
