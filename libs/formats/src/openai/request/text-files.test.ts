import type { JsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { findClientCodec, serverCodecs } from '../../registry.ts';
import { rephrase } from '../rephrase.ts';

const document = (media_type: string, data: string, title?: string) => ({
  type: 'document',
  source: { type: media_type === 'text/plain' ? 'text' : 'base64', media_type, data },
  ...(title && { title }),
});
const question = { type: 'text', text: 'What is it?' };

/** What a server of chat completions is sent for these parts of a client of messages. */
function sent(...content: object[]): JsonObject {
  const server = serverCodecs.find(({ format }) => format === 'anthropic');
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] };
  const request = server?.decodeRequest({
    path: '/v1/messages',
    headers: {},
    query: {},
    requestId: 'r',
    body,
  }).request;
  const target = { model: 'm', stream: true, maxOutputTokens: 9, clientFormat: 'anthropic' };
  const encoded = request && findClientCodec('openai')?.encodeRequest(request, target);
  return encoded?.body ?? {};
}

test.each([
  "Invalid file data: 'messages[0].content[0].file.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8='), but got unsupported MIME type 'text/plain'.",
  "Invalid value: file. Supported values are: 'text','image_url','video_url' and 'video'.",
  'unsupported content[].type',
  "Only 'text' content type is supported.",
])('a text file that a server refuses is said as text: %s', (refusal) => {
  const pdf = document('application/pdf', 'JVBERi0=');
  const body = sent(
    document('text/plain', 'Grüße', 'letter.txt'),
    document('text/plain', 'Hm.'),
    pdf,
    question,
  );
  const next = rephrase(body, refusal, true);
  const content = [
    { type: 'text', text: 'letter.txt\n\nGrüße' },
    { type: 'text', text: 'Hm.' },
    expect.objectContaining({ type: 'file' }),
    question,
  ];
  expect(next?.messages).toEqual([{ role: 'user', content }]);
  expect(rephrase(next ?? {}, refusal, true)).toBeUndefined();
  expect(rephrase(body, refusal, false)).toBeUndefined();
  expect(rephrase(sent(pdf, question), refusal, true)).toBeUndefined();
});
