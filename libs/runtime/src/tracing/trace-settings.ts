import { ConfigError } from '../settings/config-error.ts';
import type { Environment } from '../settings/environment.ts';

/** Which traces are recorded. */
export interface TraceSampling {
  /** Share of the traces that begin here, 0 to 1. */
  ratio: number;
  /** Whether a caller's decision about its trace counts. */
  followsCaller: boolean;
}

/** What the standard environment of OpenTelemetry wants of us. */
export interface TraceSettings {
  /** Absent if no collector is named, or traces are switched off. */
  sampling?: TraceSampling;
  /** Sentences about what it wants in vain. */
  warnings: readonly string[];
}

const endpoints = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
const protocols = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const;

/** Reads that environment. Throws `ConfigError` for an address of a collector that is none. */
export function parseTraceSettings(environment: Environment): TraceSettings {
  // An empty value counts as unset, as it does for every setting.
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const endpoint = endpoints.find((name) => read(name) !== undefined);
  const isOff = read('OTEL_SDK_DISABLED') === 'true' || read('OTEL_TRACES_EXPORTER') === 'none';
  if (endpoint === undefined || isOff) return { warnings: [] };
  if (!/^https?:\/\//.test(read(endpoint) ?? '') || !URL.canParse(read(endpoint) ?? '')) {
    throw new ConfigError('environment', [
      { path: endpoint, message: 'must begin with http:// or https://' },
    ]);
  }
  const warnings: string[] = [];
  const protocol = protocols.find((name) => read(name) !== undefined);
  if (protocol !== undefined && read(protocol) === 'grpc')
    warnings.push(`${protocol} is grpc, but traces are sent over HTTP, for which collectors have port 4318`);
  const sampler = read('OTEL_TRACES_SAMPLER');
  const sampling = samplingOf(sampler, read('OTEL_TRACES_SAMPLER_ARG'));
  if (!sampling)
    warnings.push('OTEL_TRACES_SAMPLER names no sampler that is known here; all traces are recorded');
  return { sampling: sampling ?? { ratio: 1, followsCaller: true }, warnings };
}

/** Absent for a sampler that we do not know, or a ratio that is none. */
function samplingOf(
  sampler = 'parentbased_always_on',
  argument: string | undefined,
): TraceSampling | undefined {
  const [, prefix, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(sampler) ?? [];
  if (kind === undefined) return undefined;
  const ratio = kind === 'always_on' ? 1 : kind === 'always_off' ? 0 : Number(argument ?? 1);
  return ratio >= 0 && ratio <= 1 ? { ratio, followsCaller: prefix !== undefined } : undefined;
}
