import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Random } from '../random.ts';
import { formatToken } from '../token-text.ts';
import { readAsk, readBody, type UpstreamAsk } from './ask.ts';
import { type Pace, parsePace } from './pace.ts';
import { PacedAnswer } from './paced-answer.ts';
import { createVoice, type End, errorBody, type Voice } from './voice.ts';

/** What the fake upstream counted since its start. */
export interface UpstreamStats {
  requests: number;
  active: number;
  finished: number;
  /** Answers whose client left before the end. */
  abandoned: number;
  tokens: number;
}

/** What the server depends on. */
export interface UpstreamOptions {
  /** Stamps tokens: must be the host's clock for transit to be measured. */
  clock: Clock;
  random: Random;
}

/** A server of all three formats whose model names say how it behaves (see `parsePace`), and its counters. */
export function createFakeUpstream(options: UpstreamOptions): { server: Server; stats: UpstreamStats } {
  const stats: UpstreamStats = { requests: 0, active: 0, finished: 0, abandoned: 0, tokens: 0 };
  const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (request, response) => {
    serve(request, response, options, stats).catch(() => response.destroy());
  });
  return { server, stats };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: UpstreamOptions,
  stats: UpstreamStats,
): Promise<void> {
  const path = request.url ?? '/';
  if (request.method === 'GET' && path === '/stats') return reply(response, 200, JSON.stringify(stats));
  if (request.method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return reply(response, 200, modelList);
  const body = await readBody(request);
  const ask = request.method === 'POST' ? readAsk(path, body) : undefined;
  if (!ask) return reply(response, 404, errorBody('openai', 404));
  stats.requests += 1;
  answer(ask, response, options, stats);
}

function answer(
  ask: UpstreamAsk,
  response: ServerResponse,
  options: UpstreamOptions,
  stats: UpstreamStats,
): void {
  const pace = troubled(parsePace(ask.model), options.random);
  const tokens = Math.min(pace.tokens, ask.maxTokens ?? Infinity);
  const end: End = tokens < pace.tokens ? 'length' : 'stop';
  const voice = createVoice(ask.format, {
    ...ask,
    id: String(stats.requests),
    created: Math.floor(Date.now() / 1000),
  });
  stats.active += 1;
  const over = (isWhole: boolean) => {
    stats.active -= 1;
    if (isWhole) stats.finished += 1;
    else stats.abandoned += 1;
  };
  if (pace.errorStatus === undefined && ask.isStream) {
    const wrote = (count: number) => {
      stats.tokens += count;
    };
    new PacedAnswer({ response, voice, pace, tokens, end, clock: options.clock, wrote, over });
    return;
  }
  const status = pace.errorStatus;
  const writes = Math.ceil(tokens / pace.tokensPerWrite);
  const waitMs = pace.firstTokenMs + (status === undefined ? Math.max(0, writes - 1) * pace.gapMs : 0);
  const speak = () => {
    if (status === undefined) stats.tokens += tokens;
    reply(response, status ?? 200, status ? errorBody(ask.format, status) : whole(voice, tokens, end));
  };
  const timer = setTimeout(speak, waitMs);
  response.on('close', () => {
    clearTimeout(timer);
    over(response.writableFinished);
  });
}

/** The pace of this very request: only the named percentage of requests is in trouble. */
function troubled(pace: Pace, random: Random): Pace {
  if (random() * 100 < pace.troublePercent) return pace;
  const { cutAfter: _cut, errorStatus: _status, ...well } = pace;
  return well;
}

function whole(voice: Voice, tokens: number, end: End): string {
  let text = '';
  for (let position = 0; position < tokens; position++) text += formatToken(position, undefined);
  return voice.single(text, end, tokens);
}

const modelList = JSON.stringify({
  object: 'list',
  data: [{ id: 'paced-t50-n64-g10', object: 'model', created: 1, owned_by: 'sluice-loadtest' }],
  models: [{ name: 'models/paced-t50-n64-g10', supportedGenerationMethods: ['generateContent'] }],
});

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(status === 429 && { 'retry-after': '1' }),
  });
  response.end(body);
}
