import { describe, expect, it, test } from 'vitest';
import { parseTraceSettings } from './trace-settings.ts';

const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
const parse = (more: Record<string, string> = {}) =>
  parseTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT, ...more });
const ratio = { OTEL_TRACES_SAMPLER_ARG: '0.25' };

describe('traces are recorded', () => {
  it('if a collector is named, for all signals or for traces', () => {
    const everything = { sampling: { ratio: 1, followsCaller: true }, warnings: [] };
    expect(parse()).toEqual(everything);
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/v1/traces' };
    expect(parseTraceSettings(own)).toEqual(everything);
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['nobody names a collector', {}],
    ['its name is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['the library is switched off', { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
    ['traces are switched off', { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('but not if %s', (_why, environment) => {
    expect(parseTraceSettings(environment)).toEqual({ warnings: [] });
  });

  test.each<[string, Record<string, string>, number, boolean]>([
    ['always_on', {}, 1, false],
    ['always_off', ratio, 0, false],
    ['traceidratio', ratio, 0.25, false],
    ['traceidratio', {}, 1, false],
    ['parentbased_always_on', ratio, 1, true],
    ['parentbased_always_off', {}, 0, true],
    ['parentbased_traceidratio', ratio, 0.25, true],
  ])('as the sampler %s wants', (sampler, more, share, followsCaller) => {
    const { sampling, warnings } = parse({ OTEL_TRACES_SAMPLER: sampler, ...more });
    expect(sampling).toEqual({ ratio: share, followsCaller });
    expect(warnings).toEqual([]);
  });

  test.each([
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '25%' }],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '-1' }],
  ])('all of them, with a warning, if it is not known: %j', (more) => {
    expect(parse(more)).toEqual({
      sampling: { ratio: 1, followsCaller: true },
      warnings: [expect.stringContaining('OTEL_TRACES_SAMPLER names no sampler')],
    });
  });

  it('over HTTP, with a warning if another protocol is wanted', () => {
    expect(parse({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }).warnings).toEqual([]);
    expect(
      parse({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' }),
    ).toEqual({
      sampling: expect.anything(),
      warnings: [expect.stringContaining('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is grpc')],
    });
  });
});

it.each(['collector:4318', 'grpc://collector', 'http://'])('an address as %s is a mistake', (address) => {
  expect(() => parse({ OTEL_EXPORTER_OTLP_ENDPOINT: address })).toThrow(
    'OTEL_EXPORTER_OTLP_ENDPOINT: must begin with http:// or https://',
  );
});
