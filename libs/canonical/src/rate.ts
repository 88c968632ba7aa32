/** How far a rate of a caller is used, as admission saw it when it let a request in or refused it. */
export interface RateState {
  readonly counts: 'requests' | 'tokens';
  /** Per period, and the most that may come at once. */
  readonly max: number;
  /** Whole ones that are left, the request's own taken off if it was let in; at least 0. */
  readonly left: number;
  /** When all would be there again if nothing more came; epoch milliseconds. */
  readonly fullAt: number;
}
