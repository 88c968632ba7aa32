import { type GenerationEvent, nothingSpent, SluiceError } from '@sluice/canonical';
import {
  type ClientCodec,
  type GenerationContext,
  type StreamDecoder,
  type StreamMessage,
  saysLimitReached,
} from '@sluice/formats';
import type { ResponseHead } from '@sluice/http';
import { isEncoded } from '../../content-coding.ts';
import { deepestAnswer, isTooDeep } from './nesting.ts';

/** What is asked of the head of an answer. */
type AnswerHead = Pick<ResponseHead, 'status' | 'header' | 'headers'>;

/** Reads the body of one answer piece by piece. */
export interface AnswerReader {
  /** The events that this piece completes. The piece is valid only during the call. */
  push(chunk: Uint8Array): readonly GenerationEvent[];
  /**
   * Whether the last piece completed no event but shows that the answer continues. Pings and comments do not show that.
   */
  goesOn(): boolean;
  /** The events that only the end of the body completes, including the terminal event if it did not come before. */
  end(): readonly GenerationEvent[];
}

/** Some servers repeat the whole request in what they say of a mistake in it: FastAPI, and so vLLM and SGLang. */
const maxErrorBytes = 8 * 1024 * 1024;
const maxSingleBytes = 64 * 1024 * 1024;
const maxKeptBytes = 64 * 1024 * 1024;
/** Of the whole answer of a stream. Whoever collects it holds all of it: a server that never ends would fill memory. */
const maxSaidLength = 64 * 1024 * 1024;

/** The reader that suits an answer. Throws `upstream-failed` for a compressed one. */
export function createAnswerReader(
  codec: ClientCodec,
  context: GenerationContext,
  head: AnswerHead,
): AnswerReader {
  if (head.status > 299) return createErrorReader(codec, context, head);
  if (isEncoded(head.header('content-encoding'))) {
    throw new SluiceError('upstream-failed', 'the upstream compressed its answer unasked');
  }
  return createSuccessReader(codec, context);
}

/** In bytes: anything but blanks, which keep the connection alive, and a byte order mark. They belong to neither. */
const beginning = /[^\s\xef\xbb\xbf]/;

/**
 * Decides by the beginning of the body, not by its content type: some servers give no type or a wrong one, and routers
 * announce a stream before they know that there is only an error to report. Throws `upstream-failed` for a web page,
 * as a server gives it at an address without `/v1`.
 */
function createSuccessReader(codec: ClientCodec, context: GenerationContext): AnswerReader {
  let reader: AnswerReader | undefined;
  const open = (first: string) => {
    if (first === '<') throw new SluiceError('upstream-failed', 'the upstream answered with a web page');
    return codec.beginsStream(first)
      ? createStreamReader(codec, context)
      : createSingleReader(codec, context);
  };
  return {
    push(chunk) {
      if (reader) return reader.push(chunk);
      const first = beginning.exec(Buffer.from(chunk).toString('latin1'));
      if (!first) return [];
      reader = open(first[0]);
      return reader.push(chunk.subarray(first.index));
    },
    goesOn: () => reader?.goesOn() ?? false,
    end: () => reader?.end() ?? codec.createStreamDecoder(context).end(),
  };
}

function createStreamReader(codec: ClientCodec, context: GenerationContext): AnswerReader {
  const parser = codec.createStreamParser();
  const decoder = codec.createStreamDecoder(context);
  let goesOn = false;
  /** Bytes of the pieces since the last event. A second call, for example, is kept until the first has ended. */
  let keptBytes = 0;
  let saidLength = 0;
  return {
    push(chunk) {
      const messages = parser.push(chunk);
      const events = decodeAll(messages, decoder);
      for (const event of events) saidLength += lengthOf(event);
      if (saidLength > maxSaidLength)
        throw new SluiceError('upstream-failed', `the upstream's answer exceeds ${maxSaidLength} characters`);
      goesOn = events.length === 0 && messages.some((message) => !isPing(message));
      if (goesOn) keptBytes += chunk.length;
      else if (events.length > 0) keptBytes = 0;
      if (keptBytes > maxKeptBytes)
        throw new SluiceError('upstream-failed', `the stream says nothing in ${maxKeptBytes} bytes`);
      return events;
    },
    goesOn: () => goesOn,
    end: () => [...decodeAll(parser.end(), decoder), ...decoder.end()],
  };
}

/** Characters that an event adds to the answer. */
function lengthOf(event: GenerationEvent): number {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return event.text.length;
    case 'tool-call-delta':
      return event.arguments.length;
    // What only one format understands is collected as well: audio, for example.
    case 'block-annotation':
      return JSON.stringify(event.extensions).length;
    case 'opaque':
      return JSON.stringify(event.value).length;
    default:
      return 0;
  }
}

/** Servers of messages send pings, some without the name of the event. */
function isPing({ event, data }: StreamMessage): boolean {
  return event === 'ping' || /^\{\s*"type"\s*:\s*"ping"/.test(data);
}

/**
 * Most pieces are one message, whose events are passed on as they are. Throws `upstream-failed` for one that is nested
 * too deep.
 */
function decodeAll(messages: readonly StreamMessage[], decoder: StreamDecoder): readonly GenerationEvent[] {
  const [first] = messages;
  if (messages.length === 1 && first) return decode(first, decoder);
  const events: GenerationEvent[] = [];
  for (const message of messages) for (const event of decode(message, decoder)) events.push(event);
  return events;
}

function decode(message: StreamMessage, decoder: StreamDecoder): GenerationEvent[] {
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

/** Ignores what exceeds the limit of an error body: the status alone gives the right kind. */
function createErrorReader(codec: ClientCodec, context: GenerationContext, head: AnswerHead): AnswerReader {
  const { status } = head;
  const headers = head.headers();
  const body = new BodyCollector(maxErrorBytes);
  return {
    push(chunk) {
      body.add(chunk);
      return [];
    },
    goesOn: () => false,
    end() {
      const error = codec.decodeError(status, headers, body.parse() ?? body.words());
      const isAnswer = error.kind === 'invalid-request' && saysLimitReached(error.message);
      return isAnswer ? nothingSaid(context) : [{ type: 'error', error }];
    },
  };
}

/** The answer of a model that reached its limit before it said anything. */
function nothingSaid({ isSingleCall: _wish, ...start }: GenerationContext): GenerationEvent[] {
  return [
    { type: 'start', ...start },
    { type: 'finish', reason: 'length', usage: nothingSpent },
  ];
}

/** More of a plain text is not looked at: the dialects shorten it further. */
const longestWords = 1000;
/** Matches a page that a router made for people, with its own name in it, and bytes that are no text. */
const noWords = /^\s*<|[^\P{Cc}\s]|\ufffd/u;

const utf8 = new TextDecoder();

class BodyCollector {
  /**
   * Grows by doubling. Kept one by one, the pieces of a server that sends single bytes would take a hundred times their
   * size.
   */
  private held = Buffer.alloc(0);
  private bytes = 0;
  private readonly maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Keeps a copy. False if the chunk did not fit; then nothing of it is kept. */
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

  /** Without a byte order mark. */
  text(): string {
    return utf8.decode(this.held.subarray(0, this.bytes));
  }

  /** What it says in plain text; absent if it is something else. */
  words(): string | undefined {
    const text = this.text().slice(0, longestWords);
    return noWords.test(text) ? undefined : text;
  }

  /** Absent if it is not JSON or nested too deep. */
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
