import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ ingresses: 2, workers: 1 });
});
afterAll(() => gateway.stop());

test('a request is answered by every ingress', async () => {
  for (const baseUrl of gateway.baseUrls) {
    const response = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: '[[sim tokens=3]]' }] }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
  }
});
