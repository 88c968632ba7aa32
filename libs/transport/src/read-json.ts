/** Absent for what is no JSON: it may hold a prompt or an answer, and the parser's error would repeat some of it. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
