import { expect, it } from 'vitest';
import { traceIdOf } from './trace.ts';

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
