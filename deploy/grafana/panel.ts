/** One line or number: its query and its name. */
export interface Query {
  /** PromQL. `$__rate_interval` is Grafana's; `$pool` is the dashboard's pattern of pools. */
  readonly expression: string;
  readonly legend: string;
}

export type Unit = 'short' | 's' | 'reqps' | 'cps' | 'bytes' | 'Bps' | 'percentunit';

export interface Panel {
  readonly title: string;
  /** What it means and what to do with it. */
  readonly description: string;
  readonly unit: Unit;
  /** Default: a graph over time. */
  readonly kind?: 'number';
  /** The number from which on, or below which, it is shown in red. Absent: no number is good or bad by itself. */
  readonly alarm?: { readonly from: number } | { readonly below: number };
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}
