/** How many colours the style sheet has for runs. */
const colors = 8;

/** A run's colour: the same in all charts. */
export function colorOf(run: number): number {
  return (run % colors) + 1;
}
