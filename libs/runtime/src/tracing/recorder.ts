import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceContext } from '@sluice/canonical';
import { productVersion } from '../process/product-version.ts';
import type { TraceSampling } from './trace-settings.ts';
import type { SpanEnd, SpanStart, TraceSpan, Tracing, TracingOptions } from './tracing.ts';
import { WatchedExporter } from './watched-exporter.ts';

/** Spans that wait to be sent; more are dropped, so that a collector that is away costs some ten megabytes at most. */
const maxQueueSize = 8_192;
/** Each batch is written as JSON in one go, so the 512 spans that are usual would hold up streams. */
const maxExportBatchSize = 64;
const delayMs = 1_000;
const closeLimitMs = 2_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** Records spans with OpenTelemetry's SDK, which reads where they go, and how, from the environment. */
export class Recorder implements Tracing {
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;

  constructor({ ratio, followsCaller }: TraceSampling, { service, instance, logger }: TracingOptions) {
    const root = new TraceIdRatioBasedSampler(ratio);
    const own = resourceFromAttributes({
      'service.name': service,
      'service.version': productVersion(),
      'service.instance.id': instance,
    });
    this.provider = new TracerProvider({
      // What the environment says of the service comes last, and counts.
      resource: own.merge(detectResources({ detectors: [envDetector] })),
      sampler: followsCaller ? new ParentBasedSampler({ root }) : root,
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new WatchedExporter(new OTLPTraceExporter(), logger),
          maxQueueSize,
          maxExportBatchSize,
          scheduledDelayMillis: delayMs,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('sluice', productVersion());
  }

  startSpan({ name, kind, startedAt, parent }: SpanStart): TraceSpan {
    const options = { kind: kinds[kind], startTime: epochOf(startedAt) };
    return new RecordedSpan(this.tracer, this.tracer.startSpan(name, options, contextOf(parent)));
  }

  async close(): Promise<void> {
    const limit = new Promise((resolve) => setTimeout(resolve, closeLimitMs).unref());
    await Promise.race([this.provider.shutdown().catch(() => undefined), limit]);
  }
}

class RecordedSpan implements TraceSpan {
  private readonly tracer: Tracer;
  private readonly span: Span;

  constructor(tracer: Tracer, span: Span) {
    this.tracer = tracer;
    this.span = span;
  }

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.span.spanContext();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    const tracestate = traceState?.serialize();
    return tracestate ? { traceparent, tracestate } : { traceparent };
  }

  addPart(name: string, startedAt: number, endedAt: number): void {
    const within = trace.setSpan(ROOT_CONTEXT, this.span);
    this.tracer.startSpan(name, { startTime: epochOf(startedAt) }, within).end(epochOf(endedAt));
  }

  addEvent(name: string, at: number): void {
    this.span.addEvent(name, epochOf(at));
  }

  end({ at, attributes, error }: SpanEnd): void {
    // Safe to cast: the SDK skips attributes that are undefined.
    this.span.setAttributes(attributes as Attributes);
    if (error !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    this.span.end(epochOf(at));
  }
}

/** Of monotonic milliseconds, by the host's clock of now: that of the start is wrong after the clock was set. */
function epochOf(monotonic: number): number {
  return Date.now() + monotonic - performance.now();
}

function contextOf(parent: TraceContext | undefined): Context {
  if (!parent) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = parent.traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(parent.tracestate !== undefined && { traceState: createTraceState(parent.tracestate) }),
  });
}
