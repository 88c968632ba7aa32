import type { TraceSampling } from './trace-settings.ts';
import type { Tracing, TracingOptions } from './tracing.ts';

/**
 * Opens tracing. Where the spans go is in this process's environment, from which OpenTelemetry's library reads it. Absent
 * without `sampling`, and then the library is not even loaded.
 */
export async function openTracing(
  sampling: TraceSampling | undefined,
  options: TracingOptions,
): Promise<Tracing | undefined> {
  if (!sampling) return undefined;
  const { Recorder } = await import('./recorder.ts');
  return new Recorder(sampling, options);
}
