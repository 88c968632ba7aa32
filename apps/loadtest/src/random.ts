/** Uniform numbers from 0 (included) to 1 (excluded). */
export type Random = () => number;

/** The same seed gives the same numbers on every machine (sfc32, seeded by splitmix32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const split = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
  let [a, b, c, counter] = [split(), split(), split(), 1];
  return () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 0x1_0000_0000;
  };
}

/** Exponential with mean 1: the gap between events of a Poisson process of rate 1. */
export function exponential(random: Random): number {
  return -Math.log(1 - random());
}

/** Normal with mean 0 and standard deviation 1. */
export function normal(random: Random): number {
  return Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * random());
}

/** A whole number from 0 to `count` - 1. */
export function index(random: Random, count: number): number {
  return Math.floor(random() * count);
}
