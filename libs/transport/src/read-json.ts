/** Parses JSON; absent if it is none. It throws no error, which would repeat parts of a prompt or an answer. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
