import type { ErrorInfo, FormatId, InferenceRequest } from '@sluice/canonical';
import { placeOf } from '../places.ts';
import { serverCodecs } from '../registry.ts';

/**
 * Rewrites a failure for the client that sent `request`: the path of the refused field becomes the one in the client's
 * own request.
 */
export function inClientWords(error: ErrorInfo, request: InferenceRequest, format: FormatId): ErrorInfo {
  const { param, message } = error;
  if (param === undefined) return error;
  const place = placeOf(param, request) ?? wordOf(param, format);
  if (place === undefined) return error;
  return { ...error, param: place, message: message.replace(param, () => place) };
}

function wordOf(param: string, format: FormatId): string | undefined {
  const words = serverCodecs.find((codec) => codec.format === format)?.words;
  return words?.get(param) ?? words?.get(param.replace(/^messages.*\./, ''));
}
