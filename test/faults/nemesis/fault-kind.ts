import type { Installation } from '../installation/installation.ts';
import type { Random } from '../random.ts';

/** One way in which things break. */
export interface FaultKind {
  readonly name: string;
  /** Chooses what to break this time. Two faults never have the same target at the same time. */
  target(installation: Installation, random: Random): string;
  /** Breaks it and mends it again. */
  inflict(installation: Installation, target: string, random: Random): Promise<void>;
}
