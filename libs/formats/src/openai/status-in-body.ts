import { isJsonObject, type JsonObject } from '@sluice/canonical';

/** The statuses that other servers give for the same. Other codes are failures of the server. */
const statusOfCode: ReadonlyMap<number, number> = new Map([
  [1001, 504],
  // Too many requests, tokens of a minute, connections; a sudden rise; the end of a plan's hours.
  [1002, 429],
  [1039, 429],
  [1041, 429],
  [2045, 429],
  [2056, 429],
  [1004, 401],
  [2049, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1042, 400],
  [2013, 400],
]);
/** What the request says, or what the answer would have said. */
const flagged: ReadonlySet<number> = new Set([1026, 1027]);

/** A failure that a server reports in a body of status 200. */
export interface StatusInBody {
  /** What the HTTP status should have been. */
  status: number;
  message: string;
  /** Whether the server refuses what is said, not how. */
  isFlagged: boolean;
}

/** Reads how MiniMax reports a failure: by a code of its own instead of an answer. Absent: there is none. */
export function readStatusInBody({ base_resp: said, choices }: JsonObject): StatusInBody | undefined {
  if (Array.isArray(choices) || !isJsonObject(said)) return undefined;
  const { status_code: code, status_msg: message } = said;
  if (typeof code !== 'number' || code === 0) return undefined;
  return {
    status: statusOfCode.get(code) ?? 500,
    message: typeof message === 'string' ? message : '',
    isFlagged: flagged.has(code),
  };
}
