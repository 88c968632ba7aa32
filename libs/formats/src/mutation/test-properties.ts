import fc, { type Parameters } from 'fast-check';

/*
 * Stands in for the library of property tests while mutants are judged: the same inputs every time and fewer of them,
 * because a mutant that only the hundredth input finds would cost all the others a hundred.
 */

const most = 40;

function assert<Input>(property: fc.IRawProperty<Input>, parameters: Parameters<Input> = {}): unknown {
  const numRuns = Math.min(most, parameters.numRuns ?? most);
  return fc.assert(property, { ...parameters, seed: 1, numRuns, endOnFailure: true });
}

// The library is used by this name.
// biome-ignore lint/style/noDefaultExport: stands in for one
export default { ...fc, assert };
