import { SluiceError } from '@sluice/canonical';

/** The refusal that `attempt` ends in. Rethrows anything else; throws if nothing is refused. */
export function refusalOf(attempt: () => unknown): SluiceError {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof SluiceError) return thrown;
    throw thrown;
  }
  throw new TypeError('nothing was refused');
}
