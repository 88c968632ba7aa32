import { type GenerationEvent, SluiceError } from '@sluice/canonical';
import {
  type ClientCodec,
  type GenerationContext,
  type SseMessage,
  SseParser,
  type StreamDecoder,
} from '@sluice/formats';
import type { ResponseHead } from '@sluice/http';
import { deepestAnswer, isTooDeep } from './nesting.ts';

/** Reads the body of one answer piece by piece. */
export interface AnswerReader {
  /** The events that this piece completes. The piece is there during the call only. */
  push(chunk: Uint8Array): readonly GenerationEvent[];
  /** Whether the last piece, though it completed no event, says that the answer goes on: pings and comments do not. */
  goesOn(): boolean;
  /** The events that only the end of the body completes; the terminal is among them if it did not come before. */
  end(): readonly GenerationEvent[];
}

const maxErrorBytes = 64 * 1024;
const maxSingleBytes = 64 * 1024 * 1024;

/** The reader that fits an answer. Throws `upstream-failed` for an encoded one. */
export function createAnswerReader(
  codec: ClientCodec,
  context: GenerationContext,
  head: ResponseHead,
): AnswerReader {
  if (head.status > 299) return createErrorReader(codec, head);
  const encoding = head.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') {
    throw new SluiceError('upstream-failed', 'the upstream compressed its answer unasked');
  }
  return createSuccessReader(codec, context);
}

/** What begins a JSON body, and no stream. */
const bracket = /[{[]/;

/**
 * Goes by how the body begins, not by its type: some servers name none, or another, and what lies between sets that of a
 * stream before it knows that there is but an error to tell.
 */
function createSuccessReader(codec: ClientCodec, context: GenerationContext): AnswerReader {
  let reader: AnswerReader | undefined;
  const open = (first: string) =>
    bracket.test(first) ? createSingleReader(codec, context) : createStreamReader(codec, context);
  return {
    push(chunk) {
      // Blanks that keep a connection alive begin neither.
      const first = reader ? undefined : /\S/.exec(Buffer.from(chunk).toString('latin1'))?.[0];
      if (first !== undefined) reader = open(first);
      return reader?.push(chunk) ?? [];
    },
    goesOn: () => reader?.goesOn() ?? false,
    end: () => (reader ?? createStreamReader(codec, context)).end(),
  };
}

function createStreamReader(codec: ClientCodec, context: GenerationContext): AnswerReader {
  const parser = new SseParser();
  const decoder = codec.createStreamDecoder(context);
  let goesOn = false;
  return {
    push(chunk) {
      const messages = parser.push(chunk);
      const events = decodeAll(messages, decoder);
      goesOn = events.length === 0 && messages.some((message) => !isPing(message));
      return events;
    },
    goesOn: () => goesOn,
    end: () => [...decodeAll(parser.end(), decoder), ...decoder.end()],
  };
}

/** Servers of messages say so, some without the name of the event. */
function isPing({ event, data }: SseMessage): boolean {
  return event === 'ping' || /^\{\s*"type"\s*:\s*"ping"/.test(data);
}

/** Most pieces are one message: its events are handed on as they are. Throws `upstream-failed` for one that is too deep. */
function decodeAll(messages: readonly SseMessage[], decoder: StreamDecoder): readonly GenerationEvent[] {
  const [first] = messages;
  if (messages.length === 1 && first) return decode(first, decoder);
  return messages.flatMap((message) => decode(message, decoder));
}

function decode(message: SseMessage, decoder: StreamDecoder): GenerationEvent[] {
  if (isTooDeep(message.data))
    throw new SluiceError(
      'upstream-failed',
      `a message of the stream is nested deeper than ${deepestAnswer} levels`,
    );
  return decoder.push(message);
}

function createSingleReader(codec: ClientCodec, context: GenerationContext): AnswerReader {
  const body = new BodyCollector(maxSingleBytes);
  return {
    push(chunk) {
      if (!body.add(chunk))
        throw new SluiceError('upstream-failed', `the upstream's answer exceeds ${maxSingleBytes} bytes`);
      return [];
    },
    goesOn: () => false,
    end() {
      const parsed = body.parse();
      if (parsed === undefined) {
        throw new SluiceError(
          'upstream-failed',
          `the upstream's answer is not JSON of at most ${deepestAnswer} levels`,
        );
      }
      return codec.decodeResponse(parsed, context);
    },
  };
}

/** What exceeds the cap of an error body is left out; the status alone gives a true kind. */
function createErrorReader(codec: ClientCodec, head: ResponseHead): AnswerReader {
  const { status } = head;
  const headers = head.headers();
  const body = new BodyCollector(maxErrorBytes);
  return {
    push(chunk) {
      body.add(chunk);
      return [];
    },
    goesOn: () => false,
    end: () => [{ type: 'error', error: codec.decodeError(status, headers, body.parse() ?? body.words()) }],
  };
}

/** A page that a router made for people and tells its own name in, or bytes that are no text. */
const noWords = /^\s*<|[^\P{Cc}\s]|\ufffd/u;

class BodyCollector {
  /** Grows by doubling: kept one by one, the pieces of a server that sends single bytes take a hundred times their size. */
  private held = Buffer.alloc(0);
  private bytes = 0;
  private readonly maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Keeps a copy. False when it did not fit; then nothing of it is kept. */
  add(chunk: Uint8Array): boolean {
    const bytes = this.bytes + chunk.byteLength;
    if (bytes > this.maxBytes) return false;
    if (bytes > this.held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(bytes, 2 * this.held.length)));
      this.held.copy(larger, 0, 0, this.bytes);
      this.held = larger;
    }
    this.held.set(chunk, this.bytes);
    this.bytes = bytes;
    return true;
  }

  text(): string {
    return this.held.toString('utf8', 0, this.bytes);
  }

  /** What it says in plain text; absent when it is something else. */
  words(): string | undefined {
    const text = this.text();
    return noWords.test(text) ? undefined : text;
  }

  /** Absent when it is not JSON, or nested too deep. */
  parse(): unknown {
    const text = this.text();
    if (isTooDeep(text)) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
}
