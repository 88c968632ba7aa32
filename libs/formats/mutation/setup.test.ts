import { configureGlobal } from 'fast-check';

// A mutant that a dozen random inputs don't find is decided by the other tests.
configureGlobal({ numRuns: 12 });
