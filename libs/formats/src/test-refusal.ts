import { SluiceError } from '@sluice/canonical';

/** The refusal that `attempt` ends in; any other throw goes on. Throws where nothing is refused. */
export function refusalOf(attempt: () => unknown): SluiceError {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof SluiceError) return thrown;
    throw thrown;
  }
  throw new TypeError('nothing was refused');
}
