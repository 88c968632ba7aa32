import { describe, expect, it } from 'vitest';
import { readTraceContext, traceIdOf } from './trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

it.each([
  ['one of version 00', `00-${trace}-00f067aa0ba902b7-01`, trace],
  ['one of a later version', `01-${trace}-00f067aa0ba902b7-00`, trace],
  ['nothing', undefined, undefined],
  ['several', [`00-${trace}-00f067aa0ba902b7-01`], undefined],
  ['another line behind it', `00-${trace}-00f067aa0ba902b7-01\r\nx: y`, undefined],
  ['capitals', `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
  ['no trace', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
  ['no parent', `00-${trace}-${'0'.repeat(16)}-01`, undefined],
  ['the version that is none', `ff-${trace}-00f067aa0ba902b7-01`, undefined],
])('a traceparent that is %s', (_what, header, id) => {
  expect(traceIdOf(header)).toBe(id);
});

describe('the context of a trace', () => {
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;

  it('is read with what tracing systems keep beside it', () => {
    const context = { traceparent, tracestate: 'vendor=a:1;b:2, other=x' };
    const headers = { ...context, host: 'gateway' };
    expect(readTraceContext(headers)).toEqual(context);
  });

  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['another line behind it', 'a=b\r\nx: y'],
    ['characters that no header may have', 'a=é'],
    ['one entry that is too long', `a=${'x'.repeat(600)}`],
    ['no text', 7],
  ])('is read without a tracestate that is %s', (_what, tracestate) => {
    expect(readTraceContext({ traceparent, tracestate })).toEqual({ traceparent });
  });

  it('keeps the entries of the latest systems of a tracestate that is too long', () => {
    const entries = Array.from({ length: 32 }, (_, at) => `system${at}=${'x'.repeat(20)}`);
    const { tracestate = '' } = readTraceContext({ traceparent, tracestate: entries.join(',') }) ?? {};
    expect(tracestate.length).toBeLessThanOrEqual(512);
    expect(tracestate.split(',')).toEqual(entries.slice(0, 17));
  });

  it('is none without a valid traceparent', () => {
    expect(readTraceContext({ tracestate: 'a=b' })).toBeUndefined();
    expect(readTraceContext({ traceparent: 'mine', tracestate: 'a=b' })).toBeUndefined();
  });
});
