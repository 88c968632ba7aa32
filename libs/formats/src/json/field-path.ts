/** The path of a field below `base` as clients write it, such as `messages[0].content`; '' is the body itself. */
export function fieldPath(base: string, steps: readonly PropertyKey[]): string {
  let path = base;
  for (const step of steps) {
    if (typeof step === 'number') path += `[${step}]`;
    else path += path === '' ? String(step) : `.${String(step)}`;
  }
  return path;
}
