import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { RenderedMetrics } from '../metrics/metric-set.ts';
import { listenFailure } from './listen-failure.ts';

/** Whether a process takes traffic, and if not, why. */
export interface Readiness {
  ready: boolean;
  reasons: string[];
}

/** Where the operations port is opened, and what it serves. */
export interface OpsServerOptions {
  host: string;
  /** 0 lets the system choose one. */
  port: number;
  /** Called at every `/readyz`, so it has to be cheap. */
  isReady: () => Readiness;
  metrics: () => Promise<RenderedMetrics>;
}

/** An open operations port. */
export interface OpsServer extends AsyncDisposable {
  /** The port on which it really listens. */
  readonly port: number;
  /** Stops listening and cuts open connections. Calling it again is harmless. */
  close(): Promise<void>;
}

interface Answer {
  status: number;
  contentType: string;
  body: string;
}

/**
 * Opens the operations port: `GET /livez` (200 as long as the event loop turns), `/readyz` (200, or 503 with the
 * reasons) and `/metrics`. Rejects with `unavailable` if the address is not available.
 */
export async function openOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 },
    (request, response) => void answer(options, request, response),
  );
  await listen(server, options);
  // A server that listens on a TCP port has an address object.
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  return { port, close, [Symbol.asyncDispose]: close };
}

function listen(server: Server, { host, port }: OpsServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(listenFailure('operations', host, port, cause)));
    server.listen(port, host, () => resolve());
  });
}

async function answer(
  options: OpsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const { status, contentType, body } = await route(options, request);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function route(
  { isReady, metrics }: OpsServerOptions,
  { method, url = '/' }: IncomingMessage,
): Promise<Answer> {
  const path = url.split('?', 1)[0];
  if (path !== '/livez' && path !== '/readyz' && path !== '/metrics') return plain(404, 'not found');
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'method not allowed');
  if (path === '/livez') return plain(200, 'ok');
  try {
    if (path === '/metrics') return { status: 200, ...(await metrics()) };
    return readiness(isReady());
  } catch {
    // A probe needs an answer whatever is broken: a broken gauge must not look like a dead process.
    return path === '/metrics'
      ? plain(500, 'metrics are not available')
      : readiness({ ready: false, reasons: ['the check itself fails'] });
  }
}

function readiness({ ready, reasons }: Readiness): Answer {
  const body = `${JSON.stringify({ ready, reasons })}\n`;
  return { status: ready ? 200 : 503, contentType: 'application/json; charset=utf-8', body };
}

function plain(status: number, text: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` };
}
