import type { JsonObject } from '@sluice/canonical';
import { parseArguments as completeArguments } from '../calls/call-arguments.ts';

/** A call's arguments as an object. */
export interface CallArguments {
  args: JsonObject;
  /** True if the text was beyond repair; then `args` is empty. */
  isMalformed: boolean;
}

/**
 * The arguments of a call as the object that the dialect demands. Text that breaks off is not completed: half a command
 * or half a path is worse than none. Unreadable text becomes `{}` and is marked as malformed.
 */
export function parseArguments(text: string): CallArguments {
  const { input, isReadable, isCut } = completeArguments(text);
  return isReadable && !isCut ? { args: input, isMalformed: false } : { args: {}, isMalformed: true };
}
