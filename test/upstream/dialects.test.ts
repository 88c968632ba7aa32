import { referenceText } from '@sluice/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { ask, type Question, type Target, type Told } from './ask.ts';

/** A gateway whose model is simulated, and one that has the first as its upstream in every dialect. */
let origin: Gateway;
let front: Gateway;
beforeAll(async () => {
  origin = await startGateway({
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 64, ttftMs: 0, gapMs: 0 } } },
      models: { sim: { pool: 'sim', contextTokens: 8192, maxOutputTokens: 4096 } },
    },
  });
  const backend = { engine: 'upstream', credential: origin.apiKey, slots: 16 };
  const { baseUrl } = origin;
  const pool = (dialect: string, address = baseUrl) => ({
    backend: { ...backend, dialect, baseUrl: address },
  });
  const model = (dialect: string) => ({ pool: dialect, backendModel: 'sim', maxOutputTokens: 4096 });
  front = await startGateway({
    settings: {
      pools: {
        openai: pool('openai', `${baseUrl}/v1`),
        anthropic: pool('anthropic'),
        gemini: pool('gemini'),
      },
      models: { openai: model('openai'), anthropic: model('anthropic'), gemini: model('gemini') },
    },
  });
});
afterAll(async () => {
  await front?.stop();
  await origin?.stop();
});

const questions: Record<string, Question & { calls?: number }> = {
  'a text': { prompt: '[[sim tokens=20 seed=7]]' },
  'a text that ends at the limit': { prompt: '[[sim tokens=20 seed=7]]', maxTokens: 4 },
  'thoughts and a text': { prompt: '[[sim tokens=3 seed=4 reasoning=5]]', isReasoning: true },
  'a forced tool call': { prompt: '[[sim seed=1]]', tools: 'forced', calls: 1 },
  'parallel tool calls after a text': {
    prompt: '[[sim tokens=2 seed=1 tool=get_weather,get_time]]',
    tools: 'auto',
    calls: 2,
  },
  'a text after the result of a call': {
    prompt: '[[sim tokens=4 seed=2 tool=get_weather]]',
    tools: 'auto',
    hasResult: true,
  },
  'JSON of a schema': { prompt: '[[sim seed=5]]', isJson: true },
};

describe.each(formats.flatMap((format) => formats.map((dialect) => ({ format, dialect }))))(
  '$format served by a server that speaks $dialect',
  ({ format, dialect }) => {
    const both = (question: Question, isStream: boolean): Promise<Told[]> => {
      const direct: Target = { baseUrl: origin.baseUrl, apiKey: origin.apiKey, model: 'sim' };
      const relayed: Target = { baseUrl: front.baseUrl, apiKey: front.apiKey, model: dialect };
      return Promise.all([direct, relayed].map((target) => ask[format](target, question, isStream)));
    };

    it.each(Object.entries(questions))('tells %s as the server itself does', async (_, question) => {
      for (const isStream of [false, true]) {
        const [direct, relayed] = await both(question, isStream);
        expect(direct?.calls).toHaveLength(question.calls ?? 0);
        expect(relayed).toEqual(direct);
      }
    });

    // Generate content can't say it.
    it.skipIf(format === 'gemini')('makes one call where the client takes no more', async () => {
      const prompt = '[[sim tokens=2 seed=1 tool=get_weather,get_time]]';
      for (const isStream of [false, true]) {
        const [direct, relayed] = await both({ prompt, tools: 'auto', isSingleCall: true }, isStream);
        expect(relayed?.calls).toHaveLength(1);
        expect([relayed?.calls, relayed?.finish]).toEqual([direct?.calls, direct?.finish]);
      }
    });

    it('ends before a stop sequence', async () => {
      const words = referenceText(7, 0, 20).split(' ');
      const question = { prompt: '[[sim tokens=20 seed=7]]', stop: ` ${words[3]}` };
      for (const isStream of [false, true]) {
        const [direct, relayed] = await both(question, isStream);
        expect(relayed).toMatchObject({ text: words.slice(0, 3).join(' ') });
        // Only the messages format tells that it was a stop sequence.
        if (format !== 'anthropic' || dialect === 'anthropic') expect(relayed).toEqual(direct);
      }
    });

    const fails = (prompt: string, stream: boolean) =>
      call({ baseUrl: front.baseUrl, apiKey: front.apiKey, model: dialect, format, prompt, stream });

    it('has the status of an error that is the request’s, and 502 for one that is ours', async () => {
      const statuses = { 400: 400, 413: 413, 429: 429, 503: 503, 401: 502, 403: 502, 404: 502, 500: 502 };
      for (const [ordered, expected] of Object.entries(statuses)) {
        for (const stream of [false, true]) {
          const answer = await fails(`[[sim error=${ordered}]]`, stream);
          expect([ordered, answer.status]).toEqual([ordered, expected]);
          expect(answer.error).not.toContain(origin.apiKey);
        }
      }
    });

    it('ends with an in-band error where the server’s stream does, after the same text', async () => {
      const answer = await fails('[[sim tokens=9 seed=7 error=unavailable@3]]', true);
      expect(answer).toMatchObject({
        status: 200,
        text: referenceText(7, 0, 3),
        isComplete: false,
        error: expect.stringMatching(/./),
      });
    });
  },
);
