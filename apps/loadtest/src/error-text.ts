/** What an error says on the command line: its message, and the first line of each cause that adds something. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  let text = error.message;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    const [reason = ''] = cause.message.split('\n');
    if (!text.includes(reason)) text += `: ${reason.replace(/:$/, '')}`;
  }
  return text;
}
