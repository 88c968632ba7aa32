/** How much of a caller's rate is used, as admission saw it when it admitted or refused a request. */
export interface RateState {
  readonly counts: 'requests' | 'tokens';
  /** The most per period, and the most at once. */
  readonly max: number;
  /** How many whole ones are left, after this request if it was admitted; at least 0. */
  readonly left: number;
  /** When the rate would be full again if nothing more came; epoch milliseconds. */
  readonly fullAt: number;
}
