import { SluiceError } from '@sluice/canonical';

/** The complaint about a lost generation that an engine can't go on with. */
export function lost(): SluiceError {
  return new SluiceError('upstream-failed', 'the answer was cut off and cannot be continued', {
    detail: 'worker-lost',
  });
}
