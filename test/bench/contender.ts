import type { Role } from './processes.ts';

/** `direct` is the fake upstream alone, `proxy` a bare proxy before it, `other` somebody's gateway at a URL. */
export type ContenderKind = 'direct' | 'proxy' | 'gateway' | 'other';

/** Somebody that answers the load. */
export interface Contender {
  readonly kind: ContenderKind;
  readonly name: string;
  readonly url: string;
  /** Absent: it wants none. */
  readonly key?: string;
  /** Written as `name=value`, sent with every request; absent: none. */
  readonly headers?: readonly string[];
  /** Its processes on this machine; empty when they are not known. */
  readonly roles: readonly Role[];
  /** Starts another of its kind, as a measurement needs that must not see what went before; absent: impossible. */
  startAnother?(options?: AnotherOptions): Promise<Contender>;
  stop(): Promise<void>;
}

/** How another contender differs from the first. */
export interface AnotherOptions {
  /** Processes per role; default 1. */
  processes?: number;
}
