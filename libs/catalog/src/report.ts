import type { LoadedCatalog } from './load.ts';

/** One line for the operator: what there is, and what the environment has changed. */
export function reportCatalog({ pools, models, overridden }: LoadedCatalog): string {
  const there = `${count(pools.size, 'pool')}, ${count(models.size, 'model')}`;
  return overridden.length === 0 ? there : `${there}; the environment sets ${overridden.join(', ')}`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
