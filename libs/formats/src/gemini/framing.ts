/** How the chunks of a stream are written to the socket. */
export interface Framing {
  readonly contentType: string;
  frame(json: string): string;
  /** What completes the text after the last chunk. */
  close(): string;
  /** Text between chunks that every reader ignores. */
  keepAlive(): string;
}

/** Server-sent events or, for a call without `alt=sse`, one JSON array that is written piece by piece. */
export function createFraming(sse: boolean): Framing {
  return sse ? eventFraming : createArrayFraming();
}

const eventFraming: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: (json) => `data: ${json}\n\n`,
  close: () => '',
  // An empty message: the SDKs for Python and Go take a comment for a chunk and fail. It needs both line ends, since
  // the Go SDK splits messages at two of them.
  keepAlive: () => '\n\n',
};

function createArrayFraming(): Framing {
  let isOpen = false;
  return {
    contentType: 'application/json',
    frame: (json) => {
      const lead = isOpen ? ',\r\n' : '[';
      isOpen = true;
      return lead + json;
    },
    close: () => ']\n',
    // White space is legal before the bracket and between elements.
    keepAlive: () => '\n',
  };
}
