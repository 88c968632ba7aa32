import type { GenerationEvent } from '@sluice/canonical';
import type { ClientCall, Format } from '../codec.ts';
import { type GoldenCase, goldenCases } from '../golden-case.ts';
import { SseParser } from '../sse.ts';

/** Work that can be repeated. One run does `units` of what the name counts. */
export interface Task {
  name: string;
  units: number;
  run(): void;
}

const words = 'The quick brown fox jumps over the lazy dog, and "quotes" it: größer, 東京, 👋.\n'.split(
  /(?<= )/,
);
const deltas = 2_000;
const context = { id: 'bench', createdAt: 0, model: 'bench' };

/** The tasks of one format: what the ingress does per request and per token, and what the upstream engine does. */
export function createTasks({ server, client }: Format): Task[] {
  const { format } = server;
  const cases = goldenCases(format);
  const requests = cases
    .filter(({ wire, facts }) => wire && !facts.refused)
    .map((golden) => wireOf(golden, server.routes[0]));
  const text = cases.find(({ name }) => name === 'text');
  if (!text) return [];
  const { call } = server.decodeRequest(wireOf(text, server.routes[0]));
  const streamed = { ...call, choices: 1 };
  const answers = cases
    .filter(({ events }) => events.length === 1 && events[0]?.at(-1)?.type === 'finish')
    .map(({ events }) => events[0] ?? []);
  const long = longAnswer();
  const longStream = encode(server, streamed, long);
  return [
    {
      name: `${format}: requests decoded`,
      units: requests.length,
      run: () => {
        for (const wire of requests) server.decodeRequest(wire);
      },
    },
    { name: `${format}: text deltas encoded`, units: deltas, run: () => void encode(server, streamed, long) },
    {
      name: `${format}: mixed events encoded`,
      units: answers.flat().length,
      run: () => {
        for (const events of answers) encode(server, streamed, events);
      },
    },
    {
      name: `${format}: text deltas decoded`,
      units: deltas,
      run: () => {
        const parser = new SseParser();
        const decoder = client.createStreamDecoder(context);
        for (const message of parser.push(longStream)) decoder.push(message);
        decoder.end();
      },
    },
  ];
}

function wireOf({ wire }: GoldenCase, route = '') {
  // Only cases with a request get here.
  const request = wire ?? { path: '', query: {}, headers: {}, requestId: 'bench', body: {} };
  return { ...request, path: request.path || route };
}

function encode(server: Format['server'], call: ClientCall, events: readonly GenerationEvent[]): string {
  const encoder = server.createStreamEncoder(call);
  let text = '';
  for (const event of events) text += encoder.push(event, 0);
  return text;
}

function longAnswer(): GenerationEvent[] {
  const usage = { inputTokens: 9, outputTokens: deltas };
  return [
    { type: 'start', ...context, inputTokens: 9 },
    ...Array.from({ length: deltas }, (_, index): GenerationEvent => {
      return { type: 'text-delta', block: 0, text: words[index % words.length] ?? '' };
    }),
    { type: 'finish', reason: 'stop', usage },
  ];
}
