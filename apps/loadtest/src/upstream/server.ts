import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type FastHandler, openFastPath, type ResponseWriter } from '@sluice/http';
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
  /** Gets the body of every request that is understood, before it is answered. Absent: nobody is told. */
  onRequest?(body: string): void;
}

/** A fake upstream. */
export interface FakeUpstream {
  server: Server;
  stats: UpstreamStats;
  /** Stops listening and cuts all connections. */
  stop(): void;
}

const keepAliveMs = 60_000;
/** A client may take the promise of `keepAliveMs` to the last millisecond. */
const idleLimitMs = keepAliveMs + 5_000;

/**
 * A server of all three formats whose behaviour is given by the model's name (see `parsePace`), and its counters.
 *
 * It answers plain requests past Node's HTTP server, so that a benchmark measures what stands before it and not this:
 * through the gateway, 256 streams without a gap got 110,000 tokens/s by Node's and 196,000 this way.
 */
export function createFakeUpstream(options: UpstreamOptions): FakeUpstream {
  const stats: UpstreamStats = { requests: 0, active: 0, finished: 0, abandoned: 0, tokens: 0 };
  const running: Running = { ...options, stats, active: new Map() };
  const server = createServer({ keepAliveTimeout: keepAliveMs, noDelay: true }, (request, response) => {
    serve(request, response, running).catch(() => response.destroy());
  });
  const serveNow: FastHandler = (head, body, response) => {
    try {
      take(head.url, body.toString(), response, running);
    } catch {
      response.destroy();
    }
  };
  const fastPath = openFastPath(server, {
    keepAliveMs,
    idleLimitMs,
    quietMs: 0,
    bodyLimitBytes: Infinity,
    isClosing: () => !server.listening,
    route: () => serveNow,
    now: Date.now,
    onHandOver: () => undefined,
  });
  const stop = () => {
    server.close();
    server.closeAllConnections();
    fastPath.cut();
  };
  return { server, stats, stop };
}

interface Running extends UpstreamOptions {
  stats: UpstreamStats;
  /** Answers in progress by model. */
  active: Map<string, number>;
}

/** Serves what is not plain: other methods, long bodies, bodies in chunks, escaped paths. */
async function serve(request: IncomingMessage, response: ResponseWriter, running: Running): Promise<void> {
  const { method, url: path = '/' } = request;
  if (method === 'POST') {
    take(path, await readBody(request), response, running);
    return;
  }
  const pages: Readonly<Record<string, string>> = { ...modelLists, '/stats': JSON.stringify(running.stats) };
  const page = method === 'GET' ? pages[path] : undefined;
  reply(response, page === undefined ? 404 : 200, page ?? unknownPlace);
}

function take(path: string, body: string, response: ResponseWriter, running: Running): void {
  const ask = readAsk(path, body);
  if (!ask) {
    reply(response, 404, unknownPlace);
    return;
  }
  running.stats.requests += 1;
  running.onRequest?.(body);
  answer(ask, response, running);
}

function answer(ask: UpstreamAsk, response: ResponseWriter, running: Running): void {
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
  response.on('close', () => {
    clearTimeout(timer);
    over(response.writableFinished);
  });
  if (!timer) speak();
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

const modelList = JSON.stringify({
  object: 'list',
  data: [{ id: 'paced-t50-n64-g10', object: 'model', created: 1, owned_by: 'sluice-loadtest' }],
  models: [{ name: 'models/paced-t50-n64-g10', supportedGenerationMethods: ['generateContent'] }],
});

const modelLists = { '/v1/models': modelList, '/v1beta/models': modelList };

/** Promises the whole body and breaks the connection after so many characters of it. */
function cutReply(response: ResponseWriter, body: string, length: number): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': lengthOf(body) });
  response.write(body.slice(0, length));
  response.socket?.destroySoon();
}

function lengthOf(body: string): string {
  return String(Buffer.byteLength(body));
}

function reply(response: ResponseWriter, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': lengthOf(body),
    ...(status === 429 && { 'retry-after': '1' }),
  });
  response.end(body);
}
