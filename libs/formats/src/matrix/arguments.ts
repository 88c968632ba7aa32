import type { Json } from '@sluice/canonical';
import { parseArguments as completeArguments } from '../anthropic/tool-arguments.ts';
import { parseArguments as repairArguments } from '../gemini/arguments.ts';
import { readArguments } from './fact.ts';

/** What is left of a call's arguments after these dialects, in turn, have made an object of them. */
export function argumentsAcross(text: string, dialects: readonly string[]): Json {
  let current = text;
  for (const dialect of dialects) {
    if (dialect === 'anthropic') current = JSON.stringify(completeArguments(current).input);
    else if (dialect === 'gemini') current = JSON.stringify(repairArguments(current).args);
  }
  return readArguments(current);
}

/**
 * The dialects that make an object of the arguments of an answer, in turn. A stream of messages passes the text
 * on as the model wrote it.
 */
export function repairersOf(format: string, dialect: string, isUpstreamStream: boolean): string[] {
  return dialect === 'anthropic' && isUpstreamStream ? [format] : [dialect, format];
}
