import { expect } from 'vitest';

/*
 * Replaces the test runner while mutants are judged, so that one process can run the same test files for every mutant.
 * It offers only what the codecs' tests use; a test that uses more ends the run with a TypeError.
 */

type Body<Row extends unknown[]> = (...row: Row) => unknown;

/** The bodies of the tests that were declared since the last call. */
export function takeTests(): Body<[]>[] {
  return declared.splice(0);
}

const declared: Body<[]>[] = [];

function declare(_name: string, body: Body<[]>): void {
  declared.push(body);
}

function each(rows: readonly unknown[]): (name: string, body: Body<unknown[]>) => void {
  return (_name, body) => {
    for (const row of rows) declared.push(() => body(...(Array.isArray(row) ? row : [row])));
  };
}

function open(_name: string, body: Body<[]>): void {
  body();
}

function openEach(rows: readonly unknown[]): (name: string, body: Body<unknown[]>) => void {
  return (_name, body) => {
    for (const row of rows) body(...(Array.isArray(row) ? row : [row]));
  };
}

export { expect };
export const test = Object.assign(declare, {
  each,
  runIf: (condition: boolean) => (condition ? declare : () => undefined),
});
export const describe = Object.assign(open, { each: openEach });

/** The other name of `test`. */
export const it = test;
