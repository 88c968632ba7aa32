import { findLlamaPackage } from '@sluice/testing';

/** Runs before all tests: several test files want the package at the same moment. */
export async function setup(): Promise<void> {
  await findLlamaPackage();
}
