/** The invariants of a run; each violation belongs to one of them. */
const invariants = {
  1: 'every request has exactly one outcome, in time',
  2: 'every text is a prefix of the reference, and a complete one is all of it, by the model that is named',
  3: 'every stream is legal in its format and replays through its SDK',
  4: 'after the load nothing is left',
  5: 'what is charged is what was delivered, once',
  6: 'inference runs once per attempt, and what nobody wants stops',
  7: 'what a fenced worker says reaches no client',
  8: 'no credential and no prompt is seen outside',
} as const;

export type Invariant = keyof typeof invariants;

export type ViolationKind =
  | 'cut-unexplained'
  | 'error-unexplained'
  | 'internal-error'
  | 'hung'
  | 'late'
  | 'truncated'
  | 'duplicated'
  | 'gap'
  | 'foreign'
  | 'too-long'
  | 'second-terminal'
  | 'event-after-end'
  | 'usage-wrong'
  | 'wrong-model'
  | 'malformed'
  | 'sdk-disagrees'
  | 'leaked'
  | 'heap-grown'
  | 'charged-twice'
  | 'charged-too-little'
  | 'over-budget'
  | 'too-many-runs'
  | 'not-stopped'
  | 'fence-untested'
  | 'canary';

export interface Violation {
  invariant: Invariant;
  kind: ViolationKind;
  /** `RequestPlan.index`; absent if it concerns no particular request. */
  request?: number;
  detail: string;
}
