import { findLlamaPackage } from '@sluice/testing';

/** Before the tests of a run: several files of them want the package at the same moment. */
export async function setup(): Promise<void> {
  await findLlamaPackage();
}
