import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../logging/logger.ts';

type ExportListener = Parameters<SpanExporter['export']>[1];

/** Passes spans on, and tells the operator once when they stop to arrive, and once when they arrive again. */
export class WatchedExporter implements SpanExporter {
  private readonly exporter: SpanExporter;
  private readonly logger: Pick<Logger, 'warn' | 'info'>;
  private arrives = true;

  constructor(exporter: SpanExporter, logger: Pick<Logger, 'warn' | 'info'>) {
    this.exporter = exporter;
    this.logger = logger;
  }

  export(spans: ReadableSpan[], listener: ExportListener): void {
    this.exporter.export(spans, (result) => {
      const { error } = result;
      const arrives = error === undefined;
      if (arrives !== this.arrives) {
        if (arrives) this.logger.info('traces arrive again');
        else
          this.logger.warn({ why: error.message }, 'traces do not arrive at the collector, and are dropped');
        this.arrives = arrives;
      }
      listener(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }
}
