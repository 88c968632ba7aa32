import type { Role } from '../machine/processes.ts';

/** `direct` is the fake upstream alone, `proxy` a bare proxy in front of it, `other` any gateway at a URL. */
export type ContenderKind = 'direct' | 'proxy' | 'gateway' | 'other';

/** A server that is measured under the load. */
export interface Contender {
  readonly kind: ContenderKind;
  readonly name: string;
  readonly url: string;
  /** Its API key; absent: it needs none. */
  readonly key?: string;
  /** Written as `name=value`, sent with every request; absent: none. */
  readonly headers?: readonly string[];
  /** Its processes on this machine; empty if they are not known. */
  readonly roles: readonly Role[];
  /** Starts a fresh one of its kind, for measurements that must not see what went before; absent: impossible. */
  startAnother?(options?: AnotherOptions): Promise<Contender>;
  stop(): Promise<void>;
}

/** How another contender differs from the first. */
export interface AnotherOptions {
  /** Processes per role; default 1. */
  processes?: number;
}
