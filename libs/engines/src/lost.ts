import { SluiceError } from '@sluice/canonical';

/** The error for a lost generation that an engine cannot continue. */
export function lost(): SluiceError {
  return new SluiceError('upstream-failed', 'the answer was cut off and cannot be continued', {
    detail: 'worker-lost',
  });
}
