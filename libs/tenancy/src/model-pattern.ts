/** Whether the name matches the pattern, in which `*` stands for any number of any characters. */
export function matchesModel(pattern: string, model: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === model;
  if (!model.startsWith(first) || model.length < first.length + last.length || !model.endsWith(last))
    return false;
  const end = model.length - last.length;
  let from = first.length;
  for (const piece of rest) {
    const found = model.indexOf(piece, from);
    if (found < 0 || found + piece.length > end) return false;
    from = found + piece.length;
  }
  return true;
}
