import { once } from 'node:events';
import { createServer } from 'node:http';

/** A span as a collector of OpenTelemetry gets it. */
export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Empty or absent: it begins its trace. */
  parentSpanId?: string;
  /** 2: answers a call; 3: calls somebody. */
  kind: number;
  startedAtMs: number;
  endedAtMs: number;
  attributes: Record<string, unknown>;
  events: string[];
  /** Whether it is told as failed. */
  hasFailed: boolean;
}

/** A collector of traces: the real protocol, over HTTP. */
export interface Collector {
  readonly baseUrl: string;
  /** In order of arrival. */
  readonly spans: readonly CollectedSpan[];
  /** All that it was sent, as text. */
  readonly received: string;
  /** Refuses what comes from now on with this status; 200 takes it again. */
  answerWith(status: number): void;
  stop(): Promise<void>;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

interface WireSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: Attribute[];
  events?: { name: string }[];
  status?: { code?: number };
}

interface WireTraces {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
}

/** Starts a collector on 127.0.0.1. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let received = '';
  let status = 200;
  const server = createServer(async (message, response) => {
    let text = '';
    for await (const chunk of message.setEncoding('utf8')) text += chunk;
    received += text;
    if (status === 200) spans.push(...spansIn(JSON.parse(text) as WireTraces));
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return {
    baseUrl: `http://127.0.0.1:${address.port}`,
    spans,
    get received() {
      return received;
    },
    answerWith(next) {
      status = next;
    },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function spansIn({ resourceSpans }: WireTraces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => collected(span, service)));
  });
}

function collected(span: WireSpan, service: string): CollectedSpan {
  const { name, traceId, spanId, parentSpanId, kind } = span;
  return {
    ...{ service, name, traceId, spanId, kind },
    ...(parentSpanId !== undefined && { parentSpanId }),
    startedAtMs: Number(span.startTimeUnixNano) / 1e6,
    endedAtMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: valuesOf(span.attributes ?? []),
    events: (span.events ?? []).map((event) => event.name),
    hasFailed: span.status?.code === 2,
  };
}

/** The value of an attribute is an object with one member, named by its type. */
function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
