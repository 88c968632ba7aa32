import { expect, onTestFinished, test } from 'vitest';
import { startUpstream } from '../contenders/upstream.ts';
import { startHops } from './hops.ts';

test.each([
  ['a stream', { stream: true, model: 'paced-t0-n40-g1' }],
  ['a stream without a gap', { stream: true, model: 'paced-t0-n400-g0' }],
  ['a single body', { model: 'paced-t0-n3-g1' }],
])('the hops pass %s on whole, one after the other and side by side', async (_, body) => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.stop());
  const hops = await startHops(upstream.url, 'socket');
  onTestFinished(() => hops.stop());
  const said = async (url: string): Promise<string[]> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, messages: [{ role: 'user', content: 'hello' }] }),
    });
    return (await response.text()).match(/"content":"[^"]*"|\[DONE\]/g) ?? [];
  };
  const direct = await said(upstream.url);
  expect(direct.length).toBeGreaterThan(0);
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => said(hops.url)));
    expect(answers).toEqual(answers.map(() => direct));
  }
});
