import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Random } from '../random.ts';
import { formatToken } from '../requests/token-text.ts';
import { readAsk, readBody, type UpstreamAsk } from './ask.ts';
import { errorBody } from './error-body.ts';
import { type Pace, parsePace } from './pace.ts';
import { PacedAnswer } from './paced-answer.ts';
import { createVoice, type End, type Voice } from './voice.ts';

/** What the fake upstream has counted since its start. */
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
  /** The clock of stamps; it must be the host's, so that transit can be measured. */
  clock: Clock;
  random: Random;
}

/** A server of all three formats whose behaviour is given by the model's name (see `parsePace`), and its counters. */
export function createFakeUpstream(options: UpstreamOptions): { server: Server; stats: UpstreamStats } {
  const stats: UpstreamStats = { requests: 0, active: 0, finished: 0, abandoned: 0, tokens: 0 };
  const active = new Map<string, number>();
  const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (request, response) => {
    serve(request, response, { ...options, stats, active }).catch(() => response.destroy());
  });
  return { server, stats };
}

interface Running extends UpstreamOptions {
  stats: UpstreamStats;
  /** Answers in progress by model. */
  active: Map<string, number>;
}

async function serve(request: IncomingMessage, response: ServerResponse, running: Running): Promise<void> {
  const { stats } = running;
  const path = request.url ?? '/';
  if (request.method === 'GET') {
    const page = path === '/stats' ? JSON.stringify(stats) : isModelList(path) ? modelList : undefined;
    reply(response, page === undefined ? 404 : 200, page ?? unknownPlace);
    return;
  }
  const ask = readAsk(path, await readBody(request));
  if (request.method !== 'POST' || !ask) {
    reply(response, 404, unknownPlace);
    return;
  }
  stats.requests += 1;
  answer(ask, response, running);
}

function answer(ask: UpstreamAsk, response: ServerResponse, running: Running): void {
  const { stats, active, clock } = running;
  const pace = troubled(parsePace(ask.model), running.random);
  const taken = active.get(ask.model) ?? 0;
  if (taken >= (pace.slots ?? Infinity)) {
    reply(response, 429, errorBody(ask.format, 429, 'all slots of the model are taken'));
    return;
  }
  active.set(ask.model, taken + 1);
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
    active.set(ask.model, (active.get(ask.model) ?? 1) - 1);
    if (isWhole) stats.finished += 1;
    else stats.abandoned += 1;
  };
  if (pace.errorStatus === undefined && ask.isStream) {
    const wrote = (count: number) => {
      stats.tokens += count;
    };
    new PacedAnswer({ response, voice, pace, tokens, end, clock, wrote, over });
    return;
  }
  const status = pace.errorStatus;
  const writes = Math.ceil(tokens / pace.tokensPerWrite);
  const waitMs = pace.firstTokenMs + (status === undefined ? Math.max(0, writes - 1) * pace.gapMs : 0);
  const speak = () => {
    if (status !== undefined) {
      reply(response, status, errorBody(ask.format, status, `the model's name asks for status ${status}`));
      return;
    }
    const said = Math.min(tokens, pace.cutAfter ?? Infinity);
    stats.tokens += said;
    const body = whole(voice, tokens, end);
    if (said === tokens) reply(response, 200, body);
    else cutReply(response, body, body.indexOf(formatToken(said, undefined)));
  };
  // No timer for 0: a timer waits at least a millisecond.
  const timer = waitMs > 0 ? setTimeout(speak, waitMs) : undefined;
  const turn = waitMs > 0 ? undefined : setImmediate(speak);
  response.on('close', () => {
    clearTimeout(timer);
    clearImmediate(turn);
    over(response.writableFinished);
  });
}

/** The pace of one request: only `troublePercent` of the requests are cut or refused. */
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

const unknownPlace = errorBody('openai', 404, 'no format has this path, or the body is not JSON');

function isModelList(path: string): boolean {
  return /^\/v1(beta)?\/models$/.test(path);
}

const modelList = JSON.stringify({
  object: 'list',
  data: [{ id: 'paced-t50-n64-g10', object: 'model', created: 1, owned_by: 'sluice-loadtest' }],
  models: [{ name: 'models/paced-t50-n64-g10', supportedGenerationMethods: ['generateContent'] }],
});

/** Promises the whole body and breaks the connection after so many characters of it. */
function cutReply(response: ServerResponse, body: string, length: number): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.write(body.slice(0, length), () => response.destroy());
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(status === 429 && { 'retry-after': '1' }),
  });
  response.end(body);
}
