import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type FastPathOptions, openFastPath, type ResponseWriter } from '@sluice/http';

/** What can read a request and write its answer. */
export const ways = ["Node's own server", 'the fast path'] as const;
/** One of the two ways. */
export type Way = (typeof ways)[number];

/** A server that listens, until it is closed. */
export interface TestServer {
  port: number;
  close(): void;
}

/** Serves every request in the given way: `answer` gets the response to write to. The connections stay open. */
export function openTestServer(way: Way, answer: (response: ResponseWriter) => void): Promise<TestServer> {
  return openRoutedServer(
    () => (way === 'the fast path' ? (_head, _body, response) => answer(response) : undefined),
    (_request, response) => answer(response),
  );
}

/** Serves by the fast path what `route` has a handler for, and everything else by `listener`. */
export async function openRoutedServer(
  route: FastPathOptions['route'],
  listener?: RequestListener,
): Promise<TestServer> {
  const server = createServer(listener);
  const fastPath = openFastPath(server, {
    keepAliveMs: 5_000,
    idleLimitMs: 5_000,
    quietMs: 1,
    bodyLimitBytes: 1_000,
    isClosing: () => false,
    route,
    now: () => 0,
    onHandOver: () => undefined,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return {
    port: address.port,
    close: () => {
      fastPath.cut();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A request that both ways serve. */
export const plainRequest = 'POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 2\r\n\r\n{}';
