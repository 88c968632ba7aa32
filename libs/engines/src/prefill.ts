import { type InferenceRequest, SluiceError } from '@sluice/canonical';

/** The words that the answer to a request goes on from. Absent: it has none, or they are more than plain text. */
export function prefillText({ prefill, messages }: InferenceRequest): string | undefined {
  const last = messages.at(-1);
  if (!prefill || last?.role !== 'assistant') return undefined;
  let text = '';
  for (const part of last.content) {
    if (part.type !== 'text') return undefined;
    text += part.text;
  }
  return text;
}

/** The complaint about a last turn of the assistant that an engine can't go on with. */
export function cannotGoOn({ prefill }: InferenceRequest, why: string): SluiceError {
  const fact = `the model cannot go on with a turn of the assistant ${why}`;
  return prefill
    ? new SluiceError('invalid-request', `${prefill.path}: ${fact}`, { param: prefill.path })
    : new SluiceError('invalid-request', fact);
}
