import { assertNever } from '@sluice/canonical';
import type { FormatName } from '../dialects/dialect.ts';

/** The formats' error types for single statuses; other statuses have the type of their class (4xx or 5xx). */
const openaiTypes: ReadonlyMap<number, string> = new Map([[429, 'rate_limit_error']]);
const anthropicTypes: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);
const geminiStatuses: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [501, 'UNIMPLEMENTED'],
  [504, 'DEADLINE_EXCEEDED'],
]);

/** An error of this status in the words of a format. */
export function errorBody(format: FormatName, status: number, message: string): string {
  const isOurs = status >= 500;
  switch (format) {
    case 'openai': {
      const type = openaiTypes.get(status) ?? (isOurs ? 'server_error' : 'invalid_request_error');
      return JSON.stringify({ error: { message, type, param: null, code: null } });
    }
    case 'anthropic': {
      const type = anthropicTypes.get(status) ?? (isOurs ? 'api_error' : 'invalid_request_error');
      return JSON.stringify({ type: 'error', error: { type, message } });
    }
    case 'gemini': {
      const word = geminiStatuses.get(status) ?? (isOurs ? 'UNAVAILABLE' : 'INVALID_ARGUMENT');
      return JSON.stringify({ error: { code: status, message, status: word } });
    }
    default:
      return assertNever(format);
  }
}
