const [quote, backslash, openBrace, openBracket, comma] = [34, 92, 123, 91, 44];

/** What a value of JSON takes when it is parsed, beside the characters of strings, bytes. */
export const bytesPerJsonValue = 100;

/** At least as many values as parsing the JSON makes: its beginnings of objects and lists, and its commas. */
export function countJsonValues(text: string): number {
  let values = 1;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfJsonString(text, index + 1);
    else if (code === openBrace || code === openBracket || code === comma) values += 1;
  }
  return values;
}

/** The index of the quote that closes the string whose text begins at `from`; the length of the text if none does. */
export function endOfJsonString(text: string, from: number): number {
  for (let found = text.indexOf('"', from); found >= 0; found = text.indexOf('"', found + 1)) {
    let before = found;
    while (before > from && text.charCodeAt(before - 1) === backslash) before -= 1;
    if ((found - before) % 2 === 0) return found;
  }
  return text.length;
}
