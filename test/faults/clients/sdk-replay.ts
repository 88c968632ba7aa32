import { once } from 'node:events';
import { createServer } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { Format } from '../../support/call.ts';
import { isComplete } from '../checker/check-answers.ts';
import type { Violation } from '../checker/violation.ts';
import type { Observation } from '../observation.ts';

/**
 * Serves recorded answers to the official SDKs and compares what they make of them with what our own strict
 * reader found: invariant 3. Answers that were cut are left out: every SDK fails on a cut socket.
 */
export async function replayThroughSdks(observations: readonly Observation[]): Promise<Violation[]> {
  const answers = new Map(
    observations
      .filter(({ end, status }) => end === 'clean' && status !== undefined)
      .map((observation) => [observation.plan.index, observation]),
  );
  const server = createServer((request, response) => {
    const observation = answers.get(Number(request.url?.split('/')[1]));
    request.resume();
    if (!observation) {
      response.destroy();
      return;
    }
    const isStream = observation.plan.isStream && observation.status === 200;
    response.writeHead(observation.status ?? 500, {
      'content-type': isStream ? 'text/event-stream; charset=utf-8' : 'application/json',
    });
    response.end(observation.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  const found: Violation[] = [];
  for (const observation of answers.values())
    found.push(...(await replay(observation, `http://127.0.0.1:${address.port}/${observation.plan.index}`)));
  server.closeAllConnections();
  server.close();
  return found;
}

async function replay(observation: Observation, baseUrl: string): Promise<Violation[]> {
  const { plan, answer } = observation;
  const disagree = (detail: string): Violation[] => [
    { invariant: 3, kind: 'sdk-disagrees', request: plan.index, detail: `${plan.format}: ${detail}` },
  ];
  const result = await readers[plan.format](baseUrl, plan.isStream).then(
    (text) => ({ text }),
    (error: Error) => ({ error }),
  );
  if ('error' in result)
    return isComplete(observation) ? disagree(`its SDK threw ${result.error.message}`) : [];
  if (!isComplete(observation)) return disagree('its SDK took a failure for an answer');
  return result.text === answer.text ? [] : disagree('its SDK read another text');
}

type Reader = (baseUrl: string, isStream: boolean) => Promise<string>;

/** The text of an answer, as an application with the official SDK gets it. Rejects if the SDK throws. */
const readers: Readonly<Record<Format, Reader>> = {
  openai: async (baseURL, isStream) => {
    const client = new OpenAI({ baseURL, apiKey: 'sk-replay', maxRetries: 0 });
    const ask = { model: 'sim', messages: [{ role: 'user' as const, content: 'again' }] };
    if (!isStream) return (await client.chat.completions.create(ask)).choices[0]?.message.content ?? '';
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    return text;
  },
  anthropic: async (baseURL, isStream) => {
    const client = new Anthropic({ baseURL, apiKey: 'sk-replay', maxRetries: 0, authToken: null });
    const ask = { model: 'sim', max_tokens: 9, messages: [{ role: 'user' as const, content: 'again' }] };
    const message = isStream
      ? await client.messages.stream(ask).finalMessage()
      : await client.messages.create(ask);
    return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  },
  gemini: async (baseUrl, isStream) => {
    const client = new GoogleGenAI({ apiKey: 'sk-replay', httpOptions: { baseUrl } });
    const ask = { model: 'sim', contents: 'again' };
    if (!isStream) return (await client.models.generateContent(ask)).text ?? '';
    let text = '';
    for await (const chunk of await client.models.generateContentStream(ask)) text += chunk.text ?? '';
    return text;
  },
};
