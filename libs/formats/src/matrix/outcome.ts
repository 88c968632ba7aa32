/** The result of one leg of a case: of its request or of its answer. */
export type LegOutcome =
  | { state: 'equal'; used: RuleUse[]; features: string[] }
  /** A 400 that names `param`. `rule` is the refusal's id, or the format's own if the client's request is bad. */
  | { state: 'refused'; rule: string; param: string; features: string[] }
  | { state: 'lossy'; difference: string; features: string[] };

/** A documented rule that changed something of a feature. */
export interface RuleUse {
  rule: string;
  feature: string;
}

/** One case in one cell of the matrix. */
export interface CellOutcome {
  format: string;
  name: string;
  dialect: string;
  mode: Mode;
  /** Absent if the case has no request of its own. */
  request?: LegOutcome;
  /** Absent if the case has no answer. */
  answer?: LegOutcome;
}

/** Whether a client wants a stream or a single body. */
export type Mode = 'stream' | 'single';

/** The state of the whole cell: the worst of its legs. */
export function stateOf({ request, answer }: CellOutcome): LegOutcome['state'] {
  const states = [request?.state, answer?.state];
  if (states.includes('lossy')) return 'lossy';
  return states.includes('refused') ? 'refused' : 'equal';
}
