import type { Json } from '@sluice/canonical';
import { parseArguments as completeArguments } from '../calls/call-arguments.ts';
import { parseArguments as repairArguments } from '../gemini/arguments.ts';
import { readArguments } from './fact.ts';

/** What remains of a call's arguments after each of these dialects in turn has turned them into an object. */
export function argumentsAcross(text: string, dialects: readonly string[]): Json {
  let current = text;
  for (const dialect of dialects) {
    if (dialect === 'anthropic') current = JSON.stringify(completeArguments(current).input);
    else if (dialect === 'gemini') current = JSON.stringify(repairArguments(current).args);
  }
  return readArguments(current);
}
