import type { ErrorInfo } from '@sluice/canonical';

const complaints = {
  incomplete: 'the upstream closed the stream before the answer was complete',
  notJson: 'the upstream sent a message that is not JSON',
  noAnswer: 'the upstream sent a message that is not an answer',
  empty: 'the upstream sent an empty answer',
  brokenOff: 'the upstream broke the answer off',
  nameless: 'the upstream called a function without a name',
  wordless: 'the upstream reported an error without a message',
} as const;

/** Why an answer cannot be read. */
export type Complaint = keyof typeof complaints;

const known: ReadonlySet<string> = new Set(Object.values(complaints));

/** The failure of an answer that cannot be read, or that ends in an error about which its server says nothing. */
export function unreadable(complaint: Complaint): ErrorInfo {
  return { kind: 'upstream-failed', message: complaints[complaint] };
}

/**
 * Whether the failure of an answer is described in these words of ours, which a log may show, and not in its server's.
 */
export function isUnreadable({ message }: ErrorInfo): boolean {
  return known.has(message);
}
