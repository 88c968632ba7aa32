import { type InferenceRequest, SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { formats } from '../registry.ts';

const types = [
  'image/*',
  'image/png',
  'application/pdf',
  'text/plain',
  'audio/wav',
  'application/octet-stream',
];
const urls = [
  'https://files.example/a',
  'https://generativelanguage.googleapis.com/v1beta/files/abc',
  'https://www.youtube.com/watch?v=abc',
  'https://youtu.be/abc',
];
const cases = formats.flatMap(({ client }) =>
  types.flatMap((mediaType) => urls.map((url) => ({ client, dialect: client.format, mediaType, url }))),
);

function encodes(client: (typeof formats)[number]['client'], mediaType: string, url: string): boolean {
  const part = { type: 'media' as const, mediaType, source: { type: 'url' as const, url } };
  const request: InferenceRequest = {
    model: 'm',
    messages: [{ role: 'user', content: [part] }],
    sampling: {},
  };
  try {
    const { body } = client.encodeRequest(request, { model: 'm', stream: true, maxOutputTokens: 10 });
    expect(JSON.stringify(body)).toContain(url);
    return true;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SluiceError);
    return false;
  }
}

describe('media by URL', () => {
  it.each(cases)('of $mediaType at $url is judged as $dialect encodes it', ({ client, mediaType, url }) => {
    const handling = client.judgeReference({ mediaType, url });
    expect(handling !== 'refused').toBe(encodes(client, mediaType, url));
  });

  it('that a server of generate content stores or watches itself is its own', () => {
    const judge = (url: string) =>
      formats
        .find(({ client }) => client.format === 'gemini')
        ?.client.judgeReference({ mediaType: 'image/*', url });
    expect(urls.map(judge)).toEqual(['perhaps-read', 'own', 'own', 'own']);
    expect(judge('https://generativelanguage.googleapis.com.evil.example/files/a')).toBe('perhaps-read');
    expect(judge('https://files.example/?u=https://youtu.be/abc')).toBe('perhaps-read');
  });

  it('leaves no trace of its URL once its data has replaced it', () => {
    const client = formats.find((format) => format.client.format === 'gemini')?.client;
    const part = {
      type: 'media' as const,
      mediaType: 'image/png',
      source: { type: 'base64' as const, data: 'AA==' },
      extensions: { gemini: { fileData: { tomorrow: 1 }, videoMetadata: { fps: 1 } } },
    };
    const request = { model: 'm', messages: [{ role: 'user' as const, content: [part] }], sampling: {} };
    const encoded = client?.encodeRequest(request, { model: 'm', stream: true, maxOutputTokens: 10 });
    expect(encoded?.body.contents).toEqual([
      {
        role: 'user',
        parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' }, videoMetadata: { fps: 1 } }],
      },
    ]);
  });
});
