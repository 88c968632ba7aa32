import { type InferenceRequest, SluiceError } from '@sluice/canonical';

/** The text that the answer continues. Absent: there is none, or it is more than plain text. */
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

/** The error for a last turn of the assistant that an engine cannot continue. */
export function cannotContinue({ prefill }: InferenceRequest, why: string): SluiceError {
  const fact = `the model cannot continue an assistant turn ${why}`;
  return prefill
    ? new SluiceError('invalid-request', `${prefill.path}: ${fact}`, { param: prefill.path })
    : new SluiceError('invalid-request', fact);
}
