import { expect, it } from 'vitest';
import { describeDoubts } from './doubts.ts';

it('a benchmark says which of its measurements are in doubt, and nothing where none is', () => {
  const clean = { scenario: 'requests', findings: [] };
  const failed = { scenario: 'tokens', findings: ['3 × http 503'] };
  expect(describeDoubts([clean, clean])).toBe('');
  expect(describeDoubts([clean, failed, failed])).toBe(
    '2 of 3 measurements are in doubt (tokens): their findings say why.',
  );
});
