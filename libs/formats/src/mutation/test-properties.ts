import fc, { type Parameters } from 'fast-check';

/*
 * Replaces the library of property tests while mutants are judged: the same inputs every time, and fewer of them. To
 * find a mutant that only the hundredth input reveals, every other mutant would have to pay for a hundred inputs.
 */

const most = 40;

function assert<Input>(property: fc.IRawProperty<Input>, parameters: Parameters<Input> = {}): unknown {
  const numRuns = Math.min(most, parameters.numRuns ?? most);
  return fc.assert(property, { ...parameters, seed: 1, numRuns, endOnFailure: true });
}

// The library is used by its default export.
// biome-ignore lint/style/noDefaultExport: stands in for one
export default { ...fc, assert };
